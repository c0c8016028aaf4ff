#if __has_include(<infiniband/verbs.h>)
#include "tests/unit/wire/fake_verbs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/mutex.h"
#include "tests/unit/wire/fake_verbs_world.h"

namespace railweave::wire::verbs {

FakeVerbs::FakeVerbs() : world_(std::make_unique<World>()) { api_ = fake_api(world_.get()); }

FakeVerbs::~FakeVerbs() {
  release();
  EXPECT_TRUE(wait_until([](const Counts& c) { return c.contexts == 0; })) << "a device was never closed";
  const Counts left = counts();
  EXPECT_EQ(left.domains + left.regions + left.queues + left.pairs, 0) << "objects were never destroyed";
}

VerbsHost FakeVerbs::host() const {
  VerbsHost host;
  host.api = &api_;
  host.sysfs = "/nowhere";
  return host;
}

void FakeVerbs::add_device(const std::string& name) {
  const MutexLock lock(world_->mutex);
  FakeRdmaDevice& device = world_->devices.emplace_back();
  device.name = name;
  std::strncpy(device.base.name, name.c_str(), sizeof device.base.name - 1);
  std::strncpy(device.base.dev_name, "uverbs0", sizeof device.base.dev_name - 1);
  device.port.state = IBV_PORT_ACTIVE;
  device.port.active_mtu = device.port.max_mtu = IBV_MTU_4096;
  device.port.link_layer = IBV_LINK_LAYER_ETHERNET;
}

void FakeVerbs::remove_device(const std::string& name) {
  World& w = *world_;
  const MutexLock lock(w.mutex);
  FakeRdmaDevice& device = w.device(name);
  device.is_there = false;
  ibv_async_event event{};
  event.event_type = IBV_EVENT_DEVICE_FATAL;
  for (FakeContext* context : w.contexts)
    if (context->of == &device) w.raise(context, event);
}

void FakeVerbs::set_presence(const std::string& device, const std::string& folder) {
  const MutexLock lock(world_->mutex);
  ibv_device& base = world_->device(device).base;
  std::strncpy(base.dev_path, folder.c_str(), sizeof base.dev_path - 1);
}

void FakeVerbs::add_gid(const std::string& device, const GidEntry& entry) {
  const MutexLock lock(world_->mutex);
  world_->device(device).gids.push_back(entry);
}

void FakeVerbs::remove_gid(const std::string& device, const Gid& gid) {
  const MutexLock lock(world_->mutex);
  std::erase_if(world_->device(device).gids, [&](const GidEntry& entry) { return entry.gid == gid; });
}

void FakeVerbs::set_port(const std::string& device, ibv_port_state state, ibv_mtu mtu, std::uint8_t link_layer) {
  const MutexLock lock(world_->mutex);
  ibv_port_attr& port = world_->device(device).port;
  port.state = state;
  port.active_mtu = mtu;
  port.link_layer = link_layer;
}

Rail FakeVerbs::add_rail(const std::string& device, const std::string& name, int ifindex) {
  add_device(device);
  Rail rail;
  rail.name = name;
  rail.ifindex = ifindex;
  Address address;
  address.bytes = {10, 0, 0, std::uint8_t(ifindex)};
  rail.addresses = {address};
  add_gid(device, {gid_of(address), 1, 1, true, ifindex});
  return rail;
}

void FakeVerbs::set_faults(const Faults& faults) {
  const MutexLock lock(world_->mutex);
  world_->faults = faults;
}

void FakeVerbs::hold(const std::string& call) {
  const MutexLock lock(world_->mutex);
  world_->held.insert(call);
}

void FakeVerbs::release() {
  const MutexLock lock(world_->mutex);
  world_->held.clear();
  world_->changed.notify_all();
}

void FakeVerbs::complete(std::uint32_t qpn, ibv_wc_status status, std::uint64_t request) {
  const MutexLock lock(world_->mutex);
  world_->complete(world_->pair(qpn), request, status, IBV_WC_SEND, 0);
}

void FakeVerbs::raise(std::uint32_t qpn, ibv_event_type type) {
  World& w = *world_;
  const MutexLock lock(w.mutex);
  FakePair* const pair = w.pair(qpn);
  ibv_async_event event{};
  event.event_type = type;
  event.element.qp = pair;
  if (type == IBV_EVENT_CQ_ERR) event.element.cq = pair->send_cq;
  if (is_of_pair(type)) ++pair->events_completed;
  w.raise(static_cast<FakeContext*>(pair->context), event);
}

void FakeVerbs::raise_of_port(const std::string& device, ibv_event_type type) {
  World& w = *world_;
  const MutexLock lock(w.mutex);
  ibv_async_event event{};
  event.event_type = type;
  event.element.port_num = 1;
  for (FakeContext* context : w.contexts)
    if (context->of == &w.device(device)) w.raise(context, event);
}

FakeVerbs::Counts FakeVerbs::counts() const {
  const MutexLock lock(world_->mutex);
  return world_->counts;
}

bool FakeVerbs::wait_until(const std::function<bool(const Counts&)>& condition) const {
  const MutexLock lock(world_->mutex);
  return world_->changed.wait_for(world_->mutex, std::chrono::seconds(20),
                                  [&]() RW_REQUIRES(world_->mutex) { return condition(world_->counts); });
}

ibv_qp_attr FakeVerbs::newest_path() const {
  const MutexLock lock(world_->mutex);
  return world_->newest_path;
}

std::uint32_t FakeVerbs::newest_connected() const {
  const MutexLock lock(world_->mutex);
  return world_->newest_qpn;
}

}  // namespace railweave::wire::verbs
#endif
