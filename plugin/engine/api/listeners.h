// The listeners of an engine, by the number that handles and OPENs name.
// Threads: any. The mutex is held for look-ups only, and no other is taken under it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "base/mutex.h"
#include "engine/api/stream_setup.h"

namespace railweave::engine {

class Listeners {
 public:
  // `slot_streams`: so many streams that nobody accepted yet may have slots (SlotBudget).
  explicit Listeners(std::size_t slot_streams) : slot_budget_(slot_streams) {}

  // A new one, with a number that none has had.
  std::shared_ptr<ListenQueue> add(std::uint64_t rail_mask);
  // Null: there is none of that number, any more.
  std::shared_ptr<ListenQueue> find(std::uint32_t id) const;
  void close(std::uint32_t id);
  void close_all();
  // Streams whose sessions are over (ListenQueue::drop_dead).
  void drop_dead();

 private:
  SlotBudget slot_budget_;
  mutable Mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<ListenQueue>> queues_ RW_GUARDED_BY(mutex_);
  std::uint32_t next_ RW_GUARDED_BY(mutex_) = 1;
};

}  // namespace railweave::engine
