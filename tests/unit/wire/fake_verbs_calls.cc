// The calls of libibverbs that the table of FakeVerbs has.
#if __has_include(<infiniband/verbs.h>)
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/mutex.h"
#include "tests/unit/wire/fake_verbs_world.h"

namespace railweave::wire::verbs {
namespace {

using World = FakeVerbs::World;
using Counts = FakeVerbs::Counts;

std::atomic<World*> current{nullptr};  // the calls of libibverbs have no argument of ours

World& world() { return *current.load(); }

template <class Object>
Object* fails(int err) {
  errno = err;
  return nullptr;
}

// --- devices

ibv_device** get_device_list(int* count) {
  World& w = world();
  const MutexLock lock(w.mutex);
  auto** const list = new ibv_device*[w.devices.size() + 1];
  *count = 0;
  for (FakeRdmaDevice& device : w.devices)
    if (device.is_there) list[(*count)++] = &device.base;
  list[*count] = nullptr;
  return list;
}

void free_device_list(ibv_device** list) { delete[] list; }
const char* get_device_name(ibv_device* device) { return device->name; }
__be64 get_device_guid(ibv_device*) { return 0x0807060504030201u; }

ibv_context* open_device(ibv_device* device) {
  World& w = world();
  const MutexLock lock(w.mutex);
  if (w.faults.open_device != 0) return fails<ibv_context>(w.faults.open_device);
  auto* const context = new FakeContext;
  context->device = device;
  context->of = &*std::ranges::find_if(w.devices, [&](const FakeRdmaDevice& d) { return &d.base == device; });
  context->async_fd = context->readable.get();
  context->num_comp_vectors = 2;
  w.contexts.insert(context);
  w.count(&Counts::contexts, 1);
  w.count(&Counts::opened, 1);
  return context;
}

int close_device(ibv_context* raw) {
  World& w = world();
  const MutexLock lock(w.mutex);
  auto* const context = static_cast<FakeContext*>(raw);
  for (const FakePair* pair : w.pairs) EXPECT_NE(pair->context, context) << "a device is closed, and has queue pairs";
  w.contexts.erase(context);
  delete context;
  w.count(&Counts::contexts, -1);
  return 0;
}

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) {
  const MutexLock lock(world().mutex);
  if (port != 1) return EINVAL;
  *attributes = device_of(context).port;
  return 0;
}

ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t most, std::uint32_t,
                        std::size_t entry_bytes) {
  const MutexLock lock(world().mutex);
  EXPECT_EQ(entry_bytes, sizeof(ibv_gid_entry));
  const auto& gids = device_of(context).gids;
  if (!device_of(context).is_there) return -EIO;
  for (std::size_t i = 0; i < std::min(most, gids.size()); ++i) {
    entries[i] = {};
    std::ranges::copy(gids[i].gid, entries[i].gid.raw);
    entries[i].gid_index = gids[i].index;
    entries[i].port_num = gids[i].port;
    entries[i].gid_type = gids[i].is_roce_v2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
    entries[i].ndev_ifindex = std::uint32_t(gids[i].ifindex);
  }
  return ssize_t(std::min(most, gids.size()));
}

// --- objects

ibv_pd* alloc_pd(ibv_context* context) {
  World& w = world();
  const MutexLock lock(w.mutex);
  if (!device_of(context).is_there) return fails<ibv_pd>(EIO);
  auto* const domain = new FakeDomain{};
  domain->context = context;
  w.count(&Counts::domains, 1);
  return domain;
}

int dealloc_pd(ibv_pd* domain) {
  World& w = world();
  const MutexLock lock(w.mutex);
  EXPECT_EQ(std::ranges::count(w.pairs, domain, &FakePair::pd), 0) << "a domain ends that has queue pairs";
  delete static_cast<FakeDomain*>(domain);
  w.count(&Counts::domains, -1);
  return 0;
}

ibv_mr* reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) {
  World& w = world();
  const MutexLock lock(w.mutex);
  EXPECT_EQ(access, IBV_ACCESS_LOCAL_WRITE) << "peers must not get access";
  if (w.faults.reg_mr != 0) return fails<ibv_mr>(w.faults.reg_mr);
  auto* const region = new FakeRegion{};
  region->context = domain->context;
  region->pd = domain;
  region->addr = address;
  region->length = bytes;
  region->lkey = 7;
  w.count(&Counts::regions, 1);
  return region;
}

int dereg_mr(ibv_mr* region) {
  World& w = world();
  const MutexLock lock(w.mutex);
  const auto first = reinterpret_cast<std::uintptr_t>(region->addr);
  for (const FakePair* pair : w.pairs)
    for (const FakePair::Receive& receive : pair->receives)
      EXPECT_GE(receive.piece.addr - first, region->length) << "memory ends that a queue pair may still write";
  const int result = device_of(region).is_there ? 0 : EIO;
  delete static_cast<FakeRegion*>(region);
  w.count(&Counts::regions, -1);
  return result;
}

ibv_comp_channel* create_comp_channel(ibv_context* context) {
  auto* const notices = new FakeNotices;
  notices->context = context;
  notices->fd = notices->readable.get();
  return notices;
}

int destroy_comp_channel(ibv_comp_channel* notices) {
  delete static_cast<FakeNotices*>(notices);
  return 0;
}

ibv_cq* create_cq(ibv_context* context, int depth, void* cq_context, ibv_comp_channel* channel, int vector) {
  World& w = world();
  const MutexLock lock(w.mutex);
  EXPECT_LT(vector, context->num_comp_vectors);
  auto* const queue = new FakeQueue;
  queue->context = context;
  queue->channel = channel;
  queue->cq_context = cq_context;
  queue->cqe = depth;
  w.count(&Counts::queues, 1);
  return queue;
}

int destroy_cq(ibv_cq* raw) {
  World& w = world();
  const MutexLock lock(w.mutex);
  auto* const queue = static_cast<FakeQueue*>(raw);
  EXPECT_EQ(queue->unacknowledged, 0u) << "ibv_destroy_cq would wait for ever";
  EXPECT_EQ(std::ranges::count(w.pairs, raw, &FakePair::send_cq), 0) << "a queue ends that a queue pair uses";
  const int result = device_of(queue).is_there ? 0 : EIO;
  delete queue;
  w.count(&Counts::queues, -1);
  return result;
}

int get_cq_event(ibv_comp_channel* raw, ibv_cq** queue, void** context) {
  auto* const notices = static_cast<FakeNotices*>(raw);
  eventfd_t one = 0;
  if (::eventfd_read(notices->readable.get(), &one) != 0) return -1;
  const MutexLock lock(world().mutex);
  *queue = notices->queues.front();
  notices->queues.pop_front();
  *context = (*queue)->cq_context;
  ++static_cast<FakeQueue*>(*queue)->unacknowledged;
  return 0;
}

void ack_cq_events(ibv_cq* queue, unsigned int count) {
  const MutexLock lock(world().mutex);
  static_cast<FakeQueue*>(queue)->unacknowledged -= count;
}

ibv_qp* create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  World& w = world();
  const MutexLock lock(w.mutex);
  w.wait_while_held("create_qp");
  if (w.faults.create_qp != 0) return fails<ibv_qp>(w.faults.create_qp);
  EXPECT_EQ(attributes->qp_type, IBV_QPT_RC);
  auto* const pair = new FakePair;
  pair->context = domain->context;
  pair->qp_context = attributes->qp_context;
  pair->pd = domain;
  pair->send_cq = attributes->send_cq;
  pair->recv_cq = attributes->recv_cq;
  pair->qp_num = w.next_qpn++;
  pair->state = IBV_QPS_RESET;
  pair->receives_most = attributes->cap.max_recv_wr;
  w.pairs.insert(pair);
  w.count(&Counts::pairs, 1);
  w.count(&Counts::made, 1);
  return pair;
}

int step_to_ready_to_receive(FakePair* pair, const ibv_qp_attr& attributes) {
  const auto& gids = device_of(pair).gids;
  const bool has_gid = std::ranges::any_of(
      gids, [&](const GidEntry& entry) { return entry.index == attributes.ah_attr.grh.sgid_index; });
  if (!has_gid || attributes.ah_attr.is_global != 1) return EINVAL;
  pair->path = attributes;
  return 0;
}

int modify_qp(ibv_qp* raw, ibv_qp_attr* attributes, int mask) {
  World& w = world();
  const MutexLock lock(w.mutex);
  w.wait_while_held("modify_qp");
  auto* const pair = static_cast<FakePair*>(raw);
  EXPECT_TRUE(mask & IBV_QP_STATE);
  if (!device_of(pair).is_there) return EIO;
  const ibv_qp_state from = pair->state, to = attributes->qp_state;
  if (to == IBV_QPS_RTR && w.faults.modify_qp != 0) return w.faults.modify_qp;
  if (int(to) != int(from) + 1) return EINVAL;
  if (to == IBV_QPS_RTR)
    if (const int err = step_to_ready_to_receive(pair, *attributes); err != 0) return err;
  pair->state = to;
  if (to != IBV_QPS_RTS) return 0;
  pair->first_psn = attributes->sq_psn;
  w.newest_path = pair->path;
  w.newest_qpn = pair->qp_num;
  w.count(&Counts::connected, 1);
  return 0;
}

int destroy_qp(ibv_qp* raw) {
  World& w = world();
  const MutexLock lock(w.mutex);
  w.wait_while_held("destroy_qp");
  auto* const pair = static_cast<FakePair*>(raw);
  EXPECT_EQ(pair->events_completed, 0u) << "ibv_destroy_qp would wait for ever";
  const int result = device_of(pair).is_there ? 0 : EIO;
  w.pairs.erase(pair);
  delete pair;
  w.count(&Counts::pairs, -1);
  return result;
}

// --- events

int get_async_event(ibv_context* raw, ibv_async_event* event) {
  auto* const context = static_cast<FakeContext*>(raw);
  eventfd_t one = 0;
  if (::eventfd_read(context->readable.get(), &one) != 0) return -1;
  const MutexLock lock(world().mutex);
  *event = context->events.front();
  context->events.pop_front();
  return 0;
}

void ack_async_event(ibv_async_event* event) {
  World& w = world();
  const MutexLock lock(w.mutex);
  if (is_of_pair(event->event_type)) --event->element.qp->events_completed;
  w.count(&Counts::acknowledged, 1);
}

const char* event_type_str(ibv_event_type type) { return type == IBV_EVENT_DEVICE_FATAL ? "device fatal" : "an event"; }
const char* wc_status_str(ibv_wc_status status) {
  return status == IBV_WC_RETRY_EXC_ERR ? "retries exceeded" : "a failure";
}

int fork_init() {
  World& w = world();
  const MutexLock lock(w.mutex);
  w.count(&Counts::forks, 1);
  return 0;
}

// --- data

int poll_cq(ibv_cq* raw, int most, ibv_wc* completions) {
  const MutexLock lock(world().mutex);
  auto* const queue = static_cast<FakeQueue*>(raw);
  int n = 0;
  for (; n < most && !queue->completions.empty(); queue->completions.pop_front())
    completions[n++] = queue->completions.front();
  return n;
}

int req_notify_cq(ibv_cq* queue, int) {
  const MutexLock lock(world().mutex);
  static_cast<FakeQueue*>(queue)->armed = true;
  return 0;
}

int post_send(ibv_qp* raw, ibv_send_wr* request, ibv_send_wr** bad) {
  World& w = world();
  const MutexLock lock(w.mutex);
  *bad = request;
  auto* const pair = static_cast<FakePair*>(raw);
  EXPECT_TRUE(request->send_flags & IBV_SEND_SIGNALED);
  if (w.faults.post_send != 0) return w.faults.post_send;
  if (w.refuses_post()) return ENOMEM;
  if (pair->state == IBV_QPS_ERR) {
    w.complete(pair, request->wr_id, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND, 0);
  } else if (pair->state != IBV_QPS_RTS) {
    return EINVAL;
  } else if (!w.faults.loses_sends && device_of(pair).is_there) {
    w.send(pair, *request);
  }
  return 0;
}

int post_recv(ibv_qp* raw, ibv_recv_wr* request, ibv_recv_wr** bad) {
  World& w = world();
  const MutexLock lock(w.mutex);
  *bad = request;
  auto* const pair = static_cast<FakePair*>(raw);
  if (pair->state == IBV_QPS_RESET) return EINVAL;
  EXPECT_LT(pair->receives.size(), pair->receives_most) << "more receives than the queue has room for";
  if (pair->state == IBV_QPS_RTS && w.refuses_post()) return ENOMEM;
  if (pair->state == IBV_QPS_ERR) {
    w.complete(pair, request->wr_id, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV, 0);
    return 0;
  }
  std::memset(reinterpret_cast<void*>(request->sg_list->addr), 0xee, request->sg_list->length);
  pair->receives.push_back({request->wr_id, *request->sg_list});
  return 0;
}

}  // namespace

Api fake_api(World* made) {
  current.store(made);
  Api api;
  api.get_device_list = &get_device_list;
  api.free_device_list = &free_device_list;
  api.get_device_name = &get_device_name;
  api.get_device_guid = &get_device_guid;
  api.open_device = &open_device;
  api.close_device = &close_device;
  api.query_port = &query_port;
  api.query_gid_table = &query_gid_table;
  api.alloc_pd = &alloc_pd;
  api.dealloc_pd = &dealloc_pd;
  api.reg_mr = &reg_mr;
  api.dereg_mr = &dereg_mr;
  api.create_comp_channel = &create_comp_channel;
  api.destroy_comp_channel = &destroy_comp_channel;
  api.create_cq = &create_cq;
  api.destroy_cq = &destroy_cq;
  api.create_qp = &create_qp;
  api.modify_qp = &modify_qp;
  api.destroy_qp = &destroy_qp;
  api.get_cq_event = &get_cq_event;
  api.ack_cq_events = &ack_cq_events;
  api.get_async_event = &get_async_event;
  api.ack_async_event = &ack_async_event;
  api.event_type_str = &event_type_str;
  api.wc_status_str = &wc_status_str;
  api.fork_init = &fork_init;
  api.poll_cq = &poll_cq;
  api.req_notify_cq = &req_notify_cq;
  api.post_send = &post_send;
  api.post_recv = &post_recv;
  return api;
}

}  // namespace railweave::wire::verbs
#endif
