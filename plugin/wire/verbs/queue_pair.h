// The RDMA objects of one lane: slots, their registration, a completion channel, a completion queue and a reliable
// queue pair, whose receive slots are all posted.
//
// Lifetime: made, connected and destroyed on the device's thread (device_commands.h), because each of these calls may
// block. In between the lane's channel uses the objects (channel.h). A queue pair serves one lane and is never used
// again: old packets could reach the next lane.
// Threads: as each member says.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>

#include "base/fd.h"
#include "railweave/status.h"
#include "wire/message/channel.h"
#include "wire/verbs/channel_address.h"
#include "wire/verbs/device_thread.h"
#include "wire/verbs/host.h"
#include "wire/verbs/queue_pair_states.h"
#include "wire/verbs/slot_memory.h"

namespace railweave::wire::verbs {

// The rings of each lane.
inline constexpr std::uint32_t kSendSlots = 64, kReceiveSlots = 64;
inline constexpr std::uint32_t kSlotBytes = 16 * 1024;
// Memory that a lane pins, without the device's queues, which are some pages.
inline constexpr std::size_t kLaneBytes = std::size_t{kSendSlots + kReceiveSlots} * kSlotBytes;

class QueuePair {
 public:
  // What a lane's objects are made in.
  struct Place {
    const VerbsHost& host;
    ibv_context* context;
    ibv_pd* domain;
    std::string device;  // name, for messages
    std::uint8_t port;   // of the device, from 1
    int vector;          // interrupt vector of the completion queue
  };

  // --- the device's thread
  // Makes a queue pair in the state INIT. Errors: exhausted (the limit of pinned memory), system; both name the call.
  // After an error, `made` is null, or an object that the device refuses to end (destroy()).
  static Status make(const Place& place, std::unique_ptr<QueuePair>& made);
  // Connects the queue pair, with a random flow label; connected() has the outcome.
  void connect(const Path& path, const ChannelAddress& peer);
  // The same for an error that was found before.
  void fail_to_connect(const Status& why);
  // Marks the queue pair as failed by an event of the device. The lane's descriptor stays readable from then on.
  void mark_failed(ibv_event_type event);
  // Ends what make() made. False: the device refuses, and may write to the slots for ever. They stay then.
  bool destroy();
  ~QueuePair() = default;  // REQUIRES: destroy() was called

  // --- any thread; constant once the lane has begun
  ibv_qp* pair() const { return pair_; }
  ibv_cq* completions() const { return completions_; }
  ibv_comp_channel* notices() const { return notices_; }
  // Readable: notices() has a notice, or the queue pair was marked as failed.
  int descriptor() const { return joined_.get(); }
  std::uint8_t port() const { return port_; }
  std::uint32_t key() const { return region_->lkey; }
  std::span<std::byte> send_slot(std::uint32_t index) const { return slot(index); }
  std::span<std::byte> receive_slot(std::uint32_t index) const { return slot(kSendSlots + index); }
  // Posts a receive slot. Returns 0 or an errno, as ibv_post_recv.
  int post_receive(std::uint32_t index) const;

  // --- any thread
  // True: connect() has ended. Then connected() is constant.
  bool has_tried_to_connect() const { return tried_.load(std::memory_order_acquire); }
  const Status& connected() const { return connected_; }
  // The event that ended the queue pair, plus 1; 0: none.
  int failed_by() const { return event_.load(std::memory_order_acquire); }

  // --- the lane's threads
  std::uint32_t unacknowledged_notices = 0;  // notices taken from notices(); the library waits for them at the end

  // --- set by the device's commands before the lane begins
  ChannelAddress address;         // for the peer
  GidEntry gid;                   // of the rail
  std::list<Command> retirement;  // the command that destroys the object, made in advance

 private:
  QueuePair(const Api& api, std::uint8_t port, std::string device)
      : api_(api), port_(port), device_(std::move(device)) {}

  std::span<std::byte> slot(std::uint32_t index) const {
    return memory_.bytes().subspan(std::size_t{index} * kSlotBytes, kSlotBytes);
  }
  Status create(const Place& place);
  Status register_slots(const Place& place);
  Status create_queues(const Place& place);
  Status join_descriptors(const Place& place);
  Status initialize(const Place& place);
  Status modify(const Transition& step, const char* state);

  const Api& api_;
  const std::uint8_t port_;
  const std::string device_;
  SlotMemory memory_;  // send slots, then receive slots
  ibv_mr* region_ = nullptr;
  ibv_comp_channel* notices_ = nullptr;
  OwnedFd failed_;  // an eventfd
  OwnedFd joined_;  // an epoll set
  ibv_cq* completions_ = nullptr;
  ibv_qp* pair_ = nullptr;
  std::atomic<int> event_{0};
  std::atomic<bool> tried_{false};
  Status connected_;
};

}  // namespace railweave::wire::verbs
