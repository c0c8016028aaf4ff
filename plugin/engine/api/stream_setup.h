// Streams between being asked for and being usable: what connectors and listeners wait on.
// Threads: any; each object has its own mutex, taken after a session's.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "engine/api/stream_end.h"
#include "engine/connect/handle.h"
#include "railweave/endpoint.h"

namespace railweave::engine {

// What a connector waits for: first a session, then the peer's answer to OPEN.
struct PendingStream {
  const HandleContent peer;
  const int traffic_class;
  const std::uint64_t rail_mask;
  const Priority priority;
  const TimePoint deadline;  // of all that is tried for it

  PendingStream(HandleContent whom, int octet, std::uint64_t rails, Priority stream_priority, TimePoint until)
      : peer(std::move(whom)), traffic_class(octet), rail_mask(rails), priority(stream_priority), deadline(until) {}

  void fail(const Status& why);
  void on_opening(std::shared_ptr<Session> in, std::unique_ptr<SendEnd> end);
  void on_opened();
  // The session ended before the peer said anything in it: another one may be opened in.
  void leave_session();
  // The connector gave up: the stream, if there is one, closes.
  void give_up();
  bool given_up();
  // Null while nothing is decided.
  Result<std::unique_ptr<SendEnd>> take();
  // The session to drive meanwhile, or null.
  std::shared_ptr<Session> session();

 private:
  Mutex mutex_;
  bool given_up_ RW_GUARDED_BY(mutex_) = false;
  bool opened_ RW_GUARDED_BY(mutex_) = false;
  Status status_ RW_GUARDED_BY(mutex_);
  std::shared_ptr<Session> session_ RW_GUARDED_BY(mutex_);
  std::unique_ptr<SendEnd> end_ RW_GUARDED_BY(mutex_);
};

// How many streams of an engine that nobody accepted yet may have slots for eager messages: what strangers can make us
// hold. Outlives its shares. Threads: any.
class SlotBudget {
 public:
  explicit SlotBudget(std::size_t streams) : streams_(streams) {}

  struct GiveBack {
    void operator()(SlotBudget* budget) const { budget->taken_.fetch_sub(1, std::memory_order_relaxed); }
  };
  using Share = std::unique_ptr<SlotBudget, GiveBack>;
  // For one stream, until it is destroyed; null when all are taken.
  Share take();

 private:
  const std::size_t streams_;
  std::atomic<std::size_t> taken_{0};
};

// Streams that arrived for one listener and were not accepted yet. Bounded; so are those among them whose session is
// over: some stay, so that who accepts hears that a peer was lost.
class ListenQueue {
 public:
  static constexpr std::size_t kStreamsMax = 1024;
  static constexpr std::size_t kDeadMax = 64;

  ListenQueue(std::uint32_t id, std::uint64_t rail_mask, SlotBudget& budget)
      : id_(id), rail_mask_(rail_mask), budget_(budget) {}

  std::uint32_t id() const { return id_; }
  std::uint64_t rail_mask() const { return rail_mask_; }
  bool has_room();
  SlotBudget::Share take_slots() { return budget_.take(); }
  // `slots`: the stream's; null: it has none.
  void push(std::unique_ptr<RecvEnd> end, SlotBudget::Share slots);
  // The oldest whose session lives, before those of sessions that are over: a peer whose session ended unanswered opens
  // the stream again in another. Null when empty.
  std::unique_ptr<RecvEnd> pop();
  void drop_dead();  // all but the last kDeadMax
  void close();      // and what is in it

 private:
  struct Waiting {
    std::unique_ptr<RecvEnd> end;
    SlotBudget::Share slots;
  };

  const std::uint32_t id_;
  const std::uint64_t rail_mask_;
  SlotBudget& budget_;
  Mutex mutex_;
  bool closed_ RW_GUARDED_BY(mutex_) = false;
  std::list<Waiting> waiting_ RW_GUARDED_BY(mutex_);  // moving it about allocates nothing
};

}  // namespace railweave::engine
