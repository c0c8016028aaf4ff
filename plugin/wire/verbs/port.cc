#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/port.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "wire/message/pending_lane.h"
#include "wire/verbs/channel.h"
#include "wire/verbs/devices.h"

namespace railweave::wire::verbs {
namespace {

class VerbsPort final : public Port {
 public:
  VerbsPort(VerbsHost host, RailIdentity rail, int traffic_class, std::shared_ptr<Device> device)
      : host_(std::move(host)),
        rail_(std::move(rail)),
        traffic_class_(std::uint8_t(traffic_class < 0 ? 0 : traffic_class)),
        device_(std::move(device)) {}

  Result<std::unique_ptr<PendingLane>> begin_lane(Role) override {
    RW_ASSIGN_OR_RETURN(OwnedQueuePair pair, make_queue_pair());
    auto channel = std::make_unique<VerbsChannel>(std::move(pair), traffic_class_);
    return std::unique_ptr<PendingLane>(
        std::make_unique<message::PendingMessageLane>(std::move(channel), rail_.name, "verbs"));
  }

 private:
  // Looks for the rail's device again if the known one does not serve the rail any more.
  Result<OwnedQueuePair> make_queue_pair() {
    if (device_) {
      Result<OwnedQueuePair> made = device_->make_queue_pair(rail_);
      if (made.ok() || made.status().code() != Code::invalid_config) return made;
      device_.reset();
    }
    Result<std::shared_ptr<Device>> found = find_device(host_, rail_);
    if (!found.ok()) return begin_error(found.status());
    device_ = std::move(*found);
    Result<OwnedQueuePair> made = device_->make_queue_pair(rail_);
    return made.ok() ? std::move(made) : begin_error(made.status());
  }

  // A host that lacks something now had it when the port was opened.
  static Status begin_error(const Status& why) {
    const Code code = why.code() == Code::invalid_config ? Code::system : why.code();
    return Status(code, Scope::lane, why.message(), why.system_errno());
  }

  const VerbsHost host_;
  const RailIdentity rail_;
  const std::uint8_t traffic_class_;
  std::shared_ptr<Device> device_;  // of the last lane; null: not known
};

// Errors: the limit has no room for one lane, even without others.
Status check_memlock(const VerbsHost& host) { return PinnedMemory().take(kLaneBytes, host.memlock_bytes); }

}  // namespace

Result<std::unique_ptr<Port>> open_port(const VerbsHost& host, const Rail& rail, const Config& config) {
  RailIdentity identity{rail.name, rail.ifindex, rail.addresses};
  RW_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, find_device(host, identity, Device::kPatienceOfOpen));
  if (const Status room = check_memlock(host); !room.ok())
    return Status(Code::invalid_config, Scope::engine, fmt::format("rail {}: {}", rail.name, room.message()));
  return std::unique_ptr<Port>(
      std::make_unique<VerbsPort>(host, std::move(identity), config.traffic_class, std::move(device)));
}

}  // namespace railweave::wire::verbs
#endif
