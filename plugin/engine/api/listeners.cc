#include "engine/api/listeners.h"

#include <utility>

namespace railweave::engine {

std::shared_ptr<ListenQueue> Listeners::add(std::uint64_t rail_mask) {
  const MutexLock lock(mutex_);
  auto queue = std::make_shared<ListenQueue>(next_++, rail_mask, slot_budget_);
  queues_.emplace(queue->id(), queue);
  return queue;
}

std::shared_ptr<ListenQueue> Listeners::find(std::uint32_t id) const {
  const MutexLock lock(mutex_);
  const auto it = queues_.find(id);
  return it == queues_.end() ? nullptr : it->second;
}

void Listeners::close(std::uint32_t id) {
  std::shared_ptr<ListenQueue> queue;
  {
    const MutexLock lock(mutex_);
    const auto it = queues_.find(id);
    if (it == queues_.end()) return;
    queue = std::move(it->second);
    queues_.erase(it);
  }
  queue->close();
}

void Listeners::close_all() {
  std::map<std::uint32_t, std::shared_ptr<ListenQueue>> queues;
  {
    const MutexLock lock(mutex_);
    queues.swap(queues_);
  }
  for (auto& [id, queue] : queues) queue->close();
}

// Walks the table by number: a copy would need memory, and dropping streams takes their sessions' mutexes, which must
// not happen under the table's mutex.
void Listeners::drop_dead() {
  for (std::uint32_t id = 0;; ++id) {
    std::shared_ptr<ListenQueue> queue;
    {
      const MutexLock lock(mutex_);
      const auto it = queues_.lower_bound(id);
      if (it == queues_.end()) return;
      id = it->first;
      queue = it->second;
    }
    queue->drop_dead();
  }
}

}  // namespace railweave::engine
