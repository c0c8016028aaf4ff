#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/device.h"

#include <endian.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/mutex.h"

namespace railweave::wire::verbs {
namespace {

constexpr std::size_t kThreadNameMost = 15;  // characters

// Why a device cannot be opened, and what to do.
Status open_error(const VerbsHost& host, const ibv_device& listed, int err) {
  const std::string file = fmt::format("{}/{}", host.device_files, listed.dev_name);
  const Status why = system_error(Scope::engine, fmt::format("device {}: cannot open {}", listed.name, file), err);
  const char* remedy = nullptr;
  if (err == EACCES || err == EPERM) remedy = "give this user read and write permission on the file";
  if (err == ENOENT || err == ENXIO)
    remedy = "pass /dev/infiniband to the container (docker: --device /dev/infiniband)";
  if (err == ENOMEM) return Status(Code::exhausted, Scope::engine, why.message(), err);
  if (!remedy) return why;
  return Status(Code::invalid_config, Scope::engine, fmt::format("{}; {}", why.message(), remedy), err);
}

Status set_nonblocking(const std::string& device, int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0) return {};
  return system_error(Scope::engine, fmt::format("device {}: fcntl of the descriptor of events", device));
}

}  // namespace

// The answer of a command, which the caller may no longer wait for.
template <class Value>
struct Device::Pending {
  Mutex mutex;
  ConditionVariable changed;
  std::optional<Result<Value>> answer RW_GUARDED_BY(mutex);

  void set(Result<Value> value) {
    const MutexLock lock(mutex);
    answer.emplace(std::move(value));
    changed.notify_all();
  }
  std::optional<Result<Value>> take(Nanos patience) {
    const MutexLock lock(mutex);
    changed.wait_for(mutex, patience, [&]() RW_REQUIRES(mutex) { return answer.has_value(); });
    return std::exchange(answer, std::nullopt);
  }
};

void RetireQueuePair::operator()(QueuePair* pair) const { device_->retire(pair); }

Result<std::shared_ptr<Device>> Device::open(const VerbsHost& host, ibv_device* listed, PinnedMemory& pinned) {
  const std::string name = host.api->get_device_name(listed);
  ibv_context* const context = host.api->open_device(listed);
  if (!context) return open_error(host, *listed, errno);
  const std::uint64_t guid = be64toh(host.api->get_device_guid(listed));
  auto commands = std::make_shared<DeviceCommands>(host, context, name, guid, pinned);
  std::shared_ptr<Device> device(new Device(host, listed, name, commands));
  Status prepared = set_nonblocking(name, context->async_fd);
  if (prepared.ok()) {
    auto thread =
        DeviceThread::start(("rw-" + name).substr(0, kThreadNameMost),
                            {[commands] { return commands->event_descriptor(); },
                             [commands] { commands->read_events(); }, [commands] { commands->check_presence(); }});
    if (thread.ok()) device->thread_ = std::move(*thread);
    prepared = thread.status();
  }
  if (prepared.ok()) return device;
  commands->close();
  return prepared;
}

Device::Device(const VerbsHost& host, const ibv_device* listed, std::string name,
               std::shared_ptr<DeviceCommands> commands)
    : host_(host), listed_(listed), name_(std::move(name)), commands_(std::move(commands)) {
  last_.emplace_back([kept = commands_] { kept->close(); });
}

Device::~Device() {
  if (thread_) thread_->finish(last_);
}

bool Device::is(const Api& api, const ibv_device* listed) const {
  return !origin_.in_child() && host_.api == &api && listed_ == listed && !commands_->is_gone();
}

Status Device::late(const char* what, Nanos patience, Nanos busy) const {
  const auto ms = [](Nanos t) { return std::chrono::duration_cast<std::chrono::milliseconds>(t).count(); };
  return Status(
      Code::exhausted, Scope::lane,
      fmt::format("device {} did not {} within {} ms; the device has been busy with another command for {} ms", name_,
                  what, ms(patience), ms(busy)));
}

template <class Answer>
Result<Answer> Device::ask(const char* what, Nanos patience, std::function<Result<Answer>()> command) {
  if (origin_.in_child())
    return Status(Code::internal, Scope::engine, fmt::format("device {} is open in the parent process only", name_));
  // A caller that waited for nothing already would wait for nothing again.
  if (const Nanos busy = thread_->busy_for(); busy > patience) return late(what, patience, busy);
  auto pending = std::make_shared<Pending<Answer>>();
  thread_->run([pending, command = std::move(command)] { pending->set(command()); });
  if (auto answer = pending->take(patience)) return std::move(*answer);
  return late(what, patience, thread_->busy_for());
}

Status Device::check(const RailIdentity& rail, Nanos patience) {
  return ask<DeviceCommands::RailPort>("look for a GID", patience,
                                       [commands = commands_, rail] { return commands->find(rail); })
      .status();
}

// A queue pair that comes too late is destroyed with the answer.
Result<OwnedQueuePair> Device::make_queue_pair(const RailIdentity& rail, Nanos patience) {
  auto made = ask<std::shared_ptr<OwnedQueuePair>>("make a queue pair", patience, [self = shared_from_this(), rail] {
    Result<QueuePair*> pair = self->commands_->make(rail);
    if (!pair.ok()) return Result<std::shared_ptr<OwnedQueuePair>>(pair.status());
    return Result(std::make_shared<OwnedQueuePair>(*pair, RetireQueuePair(self)));
  });
  if (!made.ok()) return made.status();
  OwnedQueuePair pair = std::move(**made);
  thread_->run([commands = commands_, port = pair->port()] { commands->prepare(port); });
  return pair;
}

void Device::connect(QueuePair& pair, const ChannelAddress& peer, std::uint8_t traffic_class) {
  thread_->run([commands = commands_, &pair, peer, traffic_class] { commands->connect(pair, peer, traffic_class); });
}

void Device::retire(QueuePair* pair) {
  if (!origin_.in_child()) thread_->run(pair->retirement);
}

}  // namespace railweave::wire::verbs
#endif
