// SlotPool: a fixed number of objects to take and give back. Each object keeps its index for the pool's life.
// Threads: one at a time. Memory: no allocation after construction.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace railweave {

// Objects are constructed and destroyed with the pool, so take() returns an object in the state of its last use.
template <class T>
class SlotPool {
 public:
  explicit SlotPool(std::size_t capacity)
      : slots_(std::make_unique<T[]>(capacity)), free_(capacity), capacity_(capacity) {
    for (std::size_t i = 0; i < capacity; ++i) free_[i] = static_cast<std::uint32_t>(capacity - 1 - i);
  }
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  // Null: all objects are taken. The object given back last is taken first, because it is still in the cache.
  T* take() {
    if (free_.empty()) return nullptr;
    T* const slot = &slots_[free_.back()];
    free_.pop_back();
    return slot;
  }

  // REQUIRES: `slot` came from this pool's take(), and was not given back since.
  void give_back(T* slot) {
    assert(owns(slot) && free_.size() < capacity_);
    free_.push_back(static_cast<std::uint32_t>(index_of(slot)));  // within the capacity reserved at construction
  }

  std::size_t index_of(const T* slot) const { return static_cast<std::size_t>(slot - slots_.get()); }
  T& at(std::size_t index) { return slots_[index]; }
  const T& at(std::size_t index) const { return slots_[index]; }
  bool owns(const T* slot) const { return slot >= slots_.get() && slot < slots_.get() + capacity_; }

  std::size_t capacity() const { return capacity_; }
  std::size_t taken() const { return capacity_ - free_.size(); }

 private:
  const std::unique_ptr<T[]> slots_;
  std::vector<std::uint32_t> free_;  // indices of free objects; the next to be taken is the last
  const std::size_t capacity_;
};

}  // namespace railweave
