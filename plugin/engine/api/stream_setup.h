// Streams that are requested and not usable yet: what connectors and listeners wait for.
// Threads: any. Each object has its own mutex, taken after a session's.
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

// A stream that a connector waits for: first for a session, then for the peer's answer to OPEN.
struct PendingStream {
  const HandleContent peer;
  const int traffic_class;
  const std::uint64_t rail_mask;
  const Priority priority;
  const TimePoint deadline;  // of all attempts for this stream

  PendingStream(HandleContent whom, int octet, std::uint64_t rails, Priority stream_priority, TimePoint until)
      : peer(std::move(whom)), traffic_class(octet), rail_mask(rails), priority(stream_priority), deadline(until) {}

  // No effect once the stream is opened or has failed.
  void fail(const Status& why);
  // The session `in` has sent OPEN; `end` is the stream's end.
  void on_opening(std::shared_ptr<Session> in, std::unique_ptr<SendEnd> end);
  // The peer accepted the stream.
  void on_opened();
  // The session ended before the peer said anything in it: the stream may be opened in another session.
  void leave_session();
  // The connector gave up: the stream, if there is one, closes.
  void give_up();
  bool given_up();
  // Returns the open stream, once. Null: the peer has not answered yet. Errors: the argument of fail().
  Result<std::unique_ptr<SendEnd>> take();
  // The session to drive while the connector waits; null: none.
  std::shared_ptr<Session> session();

 private:
  Mutex mutex_;
  bool given_up_ RW_GUARDED_BY(mutex_) = false;
  bool opened_ RW_GUARDED_BY(mutex_) = false;
  Status status_ RW_GUARDED_BY(mutex_);
  std::shared_ptr<Session> session_ RW_GUARDED_BY(mutex_);
  std::unique_ptr<SendEnd> end_ RW_GUARDED_BY(mutex_);
};

// Bounds how many streams of an engine may have slots for eager messages before they are accepted: the memory that
// unauthenticated peers can make this process hold. Lifetime: outlives its shares. Threads: any.
class SlotBudget {
 public:
  explicit SlotBudget(std::size_t streams) : streams_(streams) {}

  struct GiveBack {
    void operator()(SlotBudget* budget) const { budget->taken_.fetch_sub(1, std::memory_order_relaxed); }
  };
  using Share = std::unique_ptr<SlotBudget, GiveBack>;
  // Takes one stream's share, held until it is destroyed. Null: all are taken.
  Share take();

 private:
  const std::size_t streams_;
  std::atomic<std::size_t> taken_{0};
};

// Streams that arrived for one listener and were not accepted yet. At most kStreamsMax, of which at most kDeadMax after
// drop_dead() have a session that is over. Some of these stay, so that the caller that accepts learns of a lost peer.
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
  // `slots`: the stream's share; null: the stream has no slots. A closed queue drops the stream.
  void push(std::unique_ptr<RecvEnd> end, SlotBudget::Share slots);
  // Returns the oldest stream whose session lives, else the oldest of those whose session is over. The reason: a peer
  // whose session ended unanswered opens the stream again in another session. Null: empty.
  std::unique_ptr<RecvEnd> pop();
  void drop_dead();  // drops streams whose session is over, all but the last kDeadMax
  void close();      // drops all streams, and those to come

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
  std::list<Waiting> waiting_ RW_GUARDED_BY(mutex_);  // oldest first; a list, because splicing allocates nothing
};

}  // namespace railweave::engine
