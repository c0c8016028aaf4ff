// Streams that arrived for one listener and were not accepted yet. At most kStreamsMax, of which at most kDeadMax after
// drop_dead() have a session that is over. Some of these stay, so that the caller that accepts learns of a lost peer.
// Threads: any. The queue's mutex is taken after a session's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "base/mutex.h"
#include "engine/api/slot_budget.h"
#include "engine/api/stream_end.h"

namespace railweave::engine {

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
