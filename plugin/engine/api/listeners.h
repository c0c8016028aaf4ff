// The listeners of an engine, by the number that handles and OPEN frames carry.
// Threads: any. The mutex is held for look-ups only, and no other mutex is taken inside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "base/mutex.h"
#include "engine/api/listen_queue.h"

namespace railweave::engine {

class Listeners {
 public:
  // `slot_streams`: the number of streams not accepted yet that may have slots (SlotBudget).
  explicit Listeners(std::size_t slot_streams) : slot_budget_(slot_streams) {}

  // Makes a listener, with a number that was not used before. `rail_mask`: bits of our rails that its streams may use.
  std::shared_ptr<ListenQueue> add(std::uint64_t rail_mask);
  // Null: no listener has that number, or it is closed.
  std::shared_ptr<ListenQueue> find(std::uint32_t id) const;
  void close(std::uint32_t id);
  void close_all();
  // Drops streams whose sessions are over from every queue (ListenQueue::drop_dead()).
  void drop_dead();

 private:
  SlotBudget slot_budget_;
  mutable Mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<ListenQueue>> queues_ RW_GUARDED_BY(mutex_);
  std::uint32_t next_ RW_GUARDED_BY(mutex_) = 1;
};

}  // namespace railweave::engine
