// The devices and objects of FakeVerbs (fake_verbs.h), for its sources. Threads: any, with World::mutex held.
#pragma once

#if __has_include(<infiniband/verbs.h>)
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/mutex.h"
#include "tests/unit/wire/fake_verbs.h"

namespace railweave::wire::verbs {

struct FakeRdmaDevice {
  ibv_device base{};
  std::string name;
  std::vector<GidEntry> gids;
  ibv_port_attr port{};
  bool is_there = true;
};

struct FakeContext : ibv_context {
  FakeContext() : ibv_context{} {}

  FakeRdmaDevice* of = nullptr;
  std::deque<ibv_async_event> events;
  OwnedFd readable{::eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)};
};

struct FakeDomain : ibv_pd {};
struct FakeRegion : ibv_mr {};

struct FakeNotices : ibv_comp_channel {
  FakeNotices() : ibv_comp_channel{} {}

  std::deque<ibv_cq*> queues;
  OwnedFd readable{::eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)};
};

struct FakeQueue : ibv_cq {
  FakeQueue() : ibv_cq{} {}

  std::deque<ibv_wc> completions;
  bool armed = false;
  unsigned int unacknowledged = 0;
};

struct FakePair : ibv_qp {
  FakePair() : ibv_qp{} {}

  struct Receive {
    std::uint64_t request;
    ibv_sge piece;
  };
  std::deque<Receive> receives;
  std::uint32_t receives_most = 0;
  ibv_qp_attr path{};  // of the step to RTR
  std::uint32_t first_psn = 0;
};

inline FakeRdmaDevice& device_of(ibv_context* context) { return *static_cast<FakeContext*>(context)->of; }
template <class Object>
FakeRdmaDevice& device_of(Object* object) {
  return device_of(object->context);
}

// Whether events of this type name a queue pair. The fake counts those that are unacknowledged in `events_completed`.
inline bool is_of_pair(ibv_event_type type) {
  return type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR || type == IBV_EVENT_QP_ACCESS_ERR ||
         type == IBV_EVENT_COMM_EST;
}

struct FakeVerbs::World {
  mutable Mutex mutex;
  mutable ConditionVariable changed;
  std::list<FakeRdmaDevice> devices RW_GUARDED_BY(mutex);
  std::set<FakeContext*> contexts RW_GUARDED_BY(mutex);
  std::set<FakePair*> pairs RW_GUARDED_BY(mutex);
  Faults faults RW_GUARDED_BY(mutex);
  std::set<std::string> held RW_GUARDED_BY(mutex);
  Counts counts RW_GUARDED_BY(mutex);
  std::uint32_t next_qpn RW_GUARDED_BY(mutex) = 17, posts RW_GUARDED_BY(mutex) = 0;
  ibv_qp_attr newest_path RW_GUARDED_BY(mutex){};
  std::uint32_t newest_qpn RW_GUARDED_BY(mutex) = 0;

  void count(int Counts::*which, int by) RW_REQUIRES(mutex) {
    counts.*which += by;
    changed.notify_all();
  }
  void wait_while_held(const std::string& call) RW_REQUIRES(mutex) {
    if (!held.contains(call)) return;
    count(&Counts::waiting, 1);
    changed.wait(mutex, [&]() RW_REQUIRES(mutex) { return !held.contains(call); });
    count(&Counts::waiting, -1);
  }
  FakeRdmaDevice& device(const std::string& name) RW_REQUIRES(mutex) {
    return *std::ranges::find_if(devices, [&](const FakeRdmaDevice& d) { return d.name == name && d.is_there; });
  }
  FakePair* pair(std::uint32_t qpn) RW_REQUIRES(mutex) {
    const auto found = std::ranges::find_if(pairs, [&](const FakePair* p) { return p->qp_num == qpn; });
    return found == pairs.end() ? nullptr : *found;
  }

  void raise(FakeContext* context, const ibv_async_event& event) RW_REQUIRES(mutex) {
    context->events.push_back(event);
    ::eventfd_write(context->readable.get(), 1);
  }
  void complete(ibv_cq* raw, const ibv_wc& completion) RW_REQUIRES(mutex) {
    auto* const queue = static_cast<FakeQueue*>(raw);
    queue->completions.push_back(completion);
    EXPECT_LE(queue->completions.size(), std::size_t(queue->cqe)) << "the completion queue overruns";
    if (!std::exchange(queue->armed, false)) return;
    auto* const notices = static_cast<FakeNotices*>(queue->channel);
    notices->queues.push_back(queue);
    ::eventfd_write(notices->readable.get(), 1);
  }
  void complete(FakePair* pair, std::uint64_t request, ibv_wc_status status, ibv_wc_opcode opcode, std::uint32_t bytes)
      RW_REQUIRES(mutex) {
    ibv_wc completion{};
    completion.wr_id = request;
    completion.status = status;
    completion.opcode = opcode;
    completion.byte_len = bytes;
    completion.qp_num = pair->qp_num;
    complete(pair->send_cq, completion);
  }
  void fail(FakePair* pair) RW_REQUIRES(mutex) {
    pair->state = IBV_QPS_ERR;
    for (; !pair->receives.empty(); pair->receives.pop_front())
      complete(pair, pair->receives.front().request, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV, 0);
  }

  // The connected peer of a queue pair; null: nobody answers.
  FakePair* peer_of(const FakePair* from) RW_REQUIRES(mutex) {
    FakePair* const to = pair(from->path.dest_qp_num);
    if (!to || !device_of(to).is_there || (to->state != IBV_QPS_RTR && to->state != IBV_QPS_RTS)) return nullptr;
    if (to->path.dest_qp_num != from->qp_num || to->path.rq_psn != from->first_psn) return nullptr;
    EXPECT_EQ(to->path.path_mtu, from->path.path_mtu) << "the ends do not agree about the size of packets";
    const auto is_addressed = [&](const GidEntry& entry) {
      return std::equal(entry.gid.begin(), entry.gid.end(), from->path.ah_attr.grh.dgid.raw);
    };
    return std::ranges::any_of(device_of(to).gids, is_addressed) ? to : nullptr;
  }
  void send(FakePair* from, const ibv_send_wr& request) RW_REQUIRES(mutex) {
    FakePair* const to = peer_of(from);
    if (!to) {
      complete(from, request.wr_id, IBV_WC_RETRY_EXC_ERR, IBV_WC_SEND, 0);
      return fail(from);
    }
    if (to->receives.empty()) {
      ADD_FAILURE() << "a block was sent, and the peer has no slot for it";
      return;
    }
    const FakePair::Receive slot = to->receives.front();
    to->receives.pop_front();
    const ibv_sge& piece = request.sg_list[0];
    EXPECT_LE(piece.length, slot.piece.length);
    std::memcpy(reinterpret_cast<void*>(slot.piece.addr), reinterpret_cast<const void*>(piece.addr), piece.length);
    complete(to, slot.request, IBV_WC_SUCCESS, IBV_WC_RECV, piece.length);
    complete(from, request.wr_id, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
  }
  bool refuses_post() RW_REQUIRES(mutex) { return faults.short_posts > 0 && ++posts % faults.short_posts == 0; }
};

// Returns a table whose calls use `world`, the only one at a time. Null: none.
Api fake_api(FakeVerbs::World* world);

}  // namespace railweave::wire::verbs
#endif
