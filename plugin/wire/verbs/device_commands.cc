#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/device_commands.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "wire/verbs/gid_table.h"

namespace railweave::wire::verbs {
namespace {

constexpr std::uint64_t kLanesInReserve = 4;  // room for so many lanes before one more is made in advance

// Returns the inode number of a folder; 0: there is none.
ino_t inode_of(const char* path) {
  struct stat found {};
  return ::stat(path, &found) == 0 ? found.st_ino : 0;
}

Status cannot_serve(const std::string& why) { return Status(Code::invalid_config, Scope::lane, why); }

const char* state_name(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_DOWN: return "down";
    case IBV_PORT_INIT: return "initializing";
    case IBV_PORT_ARMED: return "armed";
    case IBV_PORT_ACTIVE: return "active";
    case IBV_PORT_ACTIVE_DEFER: return "active, deferred";
    default: return "in no known state";
  }
}

}  // namespace

DeviceCommands::DeviceCommands(const VerbsHost& host, ibv_context* context, std::string name, std::uint64_t guid,
                               PinnedMemory& pinned)
    : host_(host),
      api_(*host.api),
      context_(context),
      name_(std::move(name)),
      guid_(guid),
      presence_(context->device->dev_path),
      presence_inode_(inode_of(context->device->dev_path)),
      pinned_(pinned) {}

DeviceCommands::~DeviceCommands() { assert(!context_ || has_unended_); }

Status DeviceCommands::no_device() const { return cannot_serve(fmt::format("device {} is gone", name_)); }

Result<DeviceCommands::RailPort> DeviceCommands::find(const RailIdentity& rail) {
  if (is_gone()) return no_device();
  const std::vector<GidEntry> table = read_gid_table(api_, context_, host_.sysfs, name_);
  const auto found = find_gid(table, rail);
  if (!found) return cannot_serve(describe_missing(table, rail, name_));
  ibv_port_attr attributes{};
  RW_TRY(check_port(std::uint8_t(found->port), attributes));
  return RailPort{*found, std::uint8_t(attributes.active_mtu)};
}

Status DeviceCommands::check_port(std::uint8_t port, ibv_port_attr& attributes) {
  if (const int err = api_.query_port(context_, port, &attributes); err != 0)
    return system_error(Scope::lane, fmt::format("device {}: ibv_query_port of port {}", name_, port), err);
  if (attributes.link_layer != IBV_LINK_LAYER_ETHERNET)
    return cannot_serve(fmt::format("device {} port {} is not Ethernet (link layer {}); the verbs wire serves RoCE v2",
                                    name_, port, attributes.link_layer));
  if (attributes.state == IBV_PORT_ACTIVE) return {};
  return cannot_serve(fmt::format("device {} port {} is {}, expected active: check the cable and the interface", name_,
                                  port, state_name(attributes.state)));
}

Result<QueuePair*> DeviceCommands::make(const RailIdentity& rail) {
  RW_ASSIGN_OR_RETURN(const RailPort at, find(rail));
  std::unique_ptr<QueuePair> made;
  if (const auto ready = prepared_.find(at.gid.port); ready != prepared_.end()) {
    made = std::move(ready->second);
    prepared_.erase(ready);
    if (made->failed_by() != 0) destroy_owned(std::move(made));
  }
  if (!made) {
    RW_ASSIGN_OR_RETURN(made, create(std::uint8_t(at.gid.port)));
  }
  made->address.mtu = at.mtu;
  made->address.gid = at.gid.gid;
  made->address.device_guid = guid_;
  made->gid = at.gid;
  lent_.insert(made.get());
  return made.release();
}

Result<std::unique_ptr<QueuePair>> DeviceCommands::create(std::uint8_t port) {
  RW_TRY(pinned_.take(kLaneBytes, host_.memlock_bytes));
  if (!domain_) domain_ = api_.alloc_pd(context_);
  const int vector = next_vector_++ % std::max(context_->num_comp_vectors, 1);
  std::unique_ptr<QueuePair> made;
  const Status status = domain_ ? QueuePair::make({host_, context_, domain_, name_, port, vector}, made)
                                : system_error(Scope::lane, fmt::format("device {}: ibv_alloc_pd", name_));
  if (!status.ok()) {
    made ? keep_unended(std::move(made)) : pinned_.give_back(kLaneBytes);
    return status;
  }
  made->retirement.emplace_back([this, pair = made.get()] { destroy(pair); });
  return made;
}

void DeviceCommands::prepare(std::uint32_t port) {
  if (is_gone() || prepared_.contains(port)) return;
  if (!pinned_.has_room(kLanesInReserve * kLaneBytes, host_.memlock_bytes)) return;
  // An error is left to the next make(), which reports it.
  if (auto made = create(std::uint8_t(port)); made.ok()) prepared_[port] = std::move(*made);
}

void DeviceCommands::connect(QueuePair& pair, const ChannelAddress& peer, std::uint8_t traffic_class) {
  if (is_gone()) return pair.fail_to_connect(no_device());
  // The index may have changed since the lane began.
  const std::vector<GidEntry> table = read_gid_table(api_, context_, host_.sysfs, name_);
  const auto gid = find_again(table, pair.gid);
  if (!gid)
    return pair.fail_to_connect(
        Status(Code::system, Scope::lane,
               fmt::format("device {} port {} has lost the GID {}", name_, pair.gid.port, to_string(pair.gid.gid))));
  Path path;
  path.gid_index = gid->index;
  path.mtu = std::min(pair.address.mtu, peer.mtu);
  path.traffic_class = traffic_class;
  pair.connect(path, peer);
}

void DeviceCommands::destroy(QueuePair* pair) {
  lent_.erase(pair);
  destroy_owned(std::unique_ptr<QueuePair>(pair));
  close_if_unused();
}

void DeviceCommands::destroy_owned(std::unique_ptr<QueuePair> pair) {
  pair->destroy() ? pinned_.give_back(kLaneBytes) : keep_unended(std::move(pair));
}

// The device may still name the object in events, and write to its slots.
void DeviceCommands::keep_unended(std::unique_ptr<QueuePair> pair) {
  has_unended_ = true;
  (void)pair.release();
}

void DeviceCommands::read_events() {
  ibv_async_event event{};
  while (event_descriptor() >= 0) {
    errno = 0;
    if (api_.get_async_event(context_, &event) != 0) {
      if (errno != EAGAIN && errno != EINTR) lose_device("reports no events any more");
      break;
    }
    handle(event);
    api_.ack_async_event(&event);
    if (is_gone()) reads_events_ = false;
  }
  close_if_unused();
}

void DeviceCommands::handle(const ibv_async_event& event) {
  const ibv_event_type type = event.event_type;
  switch (type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR: return static_cast<QueuePair*>(event.element.qp->qp_context)->mark_failed(type);
    case IBV_EVENT_CQ_ERR: return static_cast<QueuePair*>(event.element.cq->cq_context)->mark_failed(type);
    case IBV_EVENT_DEVICE_FATAL: return lose_device(api_.event_type_str(type));
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_GID_CHANGE:
      RW_INFO(net, "verbs: device {} port {}: {}", name_, event.element.port_num, api_.event_type_str(type));
      return;
    default: return;
  }
}

void DeviceCommands::check_presence() {
  if (is_gone() || presence_inode_ == 0 || presence_inode_ == inode_of(presence_.c_str())) return;
  lose_device("was removed");
  close_if_unused();
}

void DeviceCommands::lose_device(const char* why) {
  if (gone_.exchange(true, std::memory_order_acq_rel)) return;
  RW_WARN(net, "verbs: device {}: {}: its lanes end", name_, why);
  reads_events_ = false;
  for (QueuePair* const pair : lent_) pair->mark_failed(IBV_EVENT_DEVICE_FATAL);
  for (auto& [port, pair] : prepared_) destroy_owned(std::move(pair));
  prepared_.clear();
}

void DeviceCommands::close_if_unused() {
  if (is_gone() && lent_.empty()) close();
}

void DeviceCommands::close() {
  for (auto& [port, pair] : prepared_) destroy_owned(std::move(pair));
  prepared_.clear();
  gone_.store(true, std::memory_order_release);
  reads_events_ = false;
  if (!context_ || has_unended_) return;
  if (domain_) (void)api_.dealloc_pd(std::exchange(domain_, nullptr));
  (void)api_.close_device(std::exchange(context_, nullptr));
}

}  // namespace railweave::wire::verbs
#endif
