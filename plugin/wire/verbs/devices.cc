#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"
#include "base/process_origin.h"

namespace railweave::wire::verbs {
namespace {

// What the process shares. Never destroyed: threads of devices may outlive every static object.
struct ProcessDevices {
  const ProcessOrigin origin;
  PinnedMemory pinned;
  Mutex mutex;
  std::vector<std::weak_ptr<Device>> open RW_GUARDED_BY(mutex);
};

ProcessDevices& process_devices() {
  static std::atomic<ProcessDevices*> current{nullptr};
  ProcessDevices* known = current.load(std::memory_order_acquire);
  if (known && !known->origin.in_child()) return *known;
  auto* const made = new ProcessDevices;
  if (current.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return *made;
  delete made;  // another thread was quicker
  return *known;
}

// Returns the open device of this entry of the list, or opens it.
Result<std::shared_ptr<Device>> open_or_share(const VerbsHost& host, ibv_device* listed) {
  ProcessDevices& process = process_devices();
  const MutexLock lock(process.mutex);
  std::erase_if(process.open, [](const std::weak_ptr<Device>& device) { return device.expired(); });
  for (const std::weak_ptr<Device>& known : process.open)
    if (auto device = known.lock(); device && device->is(*host.api, listed)) return device;
  RW_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, Device::open(host, listed, process.pinned));
  process.open.push_back(device);
  return device;
}

std::string names_in(const std::string& folder) {
  std::string names;
  std::error_code failed;
  std::filesystem::directory_iterator entry(folder, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed))
    names += (names.empty() ? "" : ", ") + entry->path().filename().string();
  return names;
}

Status no_devices(const VerbsHost& host, int err) {
  const std::string kernel = names_in(host.sysfs);
  const std::string why =
      kernel.empty() ? fmt::format("this host has no RDMA device ({} is empty)", host.sysfs)
                     : fmt::format(
                           "the kernel has RDMA devices ({}), but libibverbs lists none (errno {}): install the "
                           "package ibverbs-providers, and pass {} to a container",
                           kernel, err, host.device_files);
  return Status(Code::invalid_config, Scope::engine, why);
}

// Collects why devices do not serve the rail.
class Reasons {
 public:
  void add(const Status& why) {
    text_ += (text_.empty() ? "" : "; ") + why.message();
    if (code_ == Code::invalid_config) code_ = why.code();
  }
  Status status(const RailIdentity& rail) const {
    return Status(code_, Scope::engine, fmt::format("no RDMA device serves rail {}: {}", rail.name, text_));
  }

 private:
  std::string text_;
  Code code_ = Code::invalid_config;
};

Result<std::shared_ptr<Device>> find_among(const VerbsHost& host, std::span<ibv_device* const> listed,
                                           const RailIdentity& rail, Nanos patience) {
  Reasons reasons;
  const TimePoint end = deadline_after(patience);
  for (ibv_device* const candidate : listed) {
    Result<std::shared_ptr<Device>> device = open_or_share(host, candidate);
    const Nanos left = std::max(end - now(), Nanos(0));  // several devices may be busy
    const Status serves = device.ok() ? (*device)->check(rail, left) : device.status();
    if (serves.ok()) return device;
    reasons.add(serves);
  }
  return reasons.status(rail);
}

}  // namespace

PinnedMemory& pinned_memory() { return process_devices().pinned; }

Result<std::shared_ptr<Device>> find_device(const VerbsHost& host, const RailIdentity& rail, Nanos patience) {
  int count = 0;
  errno = 0;
  ibv_device** const listed = host.api->get_device_list(&count);
  if (!listed || count == 0) {
    const Status none = no_devices(host, errno);
    if (listed) host.api->free_device_list(listed);
    return none;
  }
  Result<std::shared_ptr<Device>> found = find_among(host, {listed, std::size_t(count)}, rail, patience);
  host.api->free_device_list(listed);
  return found;
}

}  // namespace railweave::wire::verbs
#endif
