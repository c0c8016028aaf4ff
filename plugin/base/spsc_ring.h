// Bounded queue from one producer thread to one consumer thread. No lock, no allocation after construction.
#pragma once

#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/cache_line.h"

namespace railweave {

// T: default-constructible and copy-assignable. An element stays in its slot until it is overwritten, so elements
// should be plain values. "One thread" may change hands where something else (a claim, a mutex) orders the change.
template <class T>
class SpscRing {
 public:
  // REQUIRES: `capacity` is a power of two.
  explicit SpscRing(std::size_t capacity) : mask_(capacity - 1), slots_(std::make_unique<T[]>(capacity)) {
    assert(std::has_single_bit(capacity));
  }
  SpscRing(const SpscRing&) = delete;
  SpscRing& operator=(const SpscRing&) = delete;

  // Producer. False: full.
  bool try_push(const T& value) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - known_head_ > mask_) {
      known_head_ = head_.load(std::memory_order_acquire);
      if (tail - known_head_ > mask_) return false;
    }
    slots_[tail & mask_] = value;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  // Consumer. False: empty.
  bool try_pop(T& value) {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == known_tail_) {
      known_tail_ = tail_.load(std::memory_order_acquire);
      if (head == known_tail_) return false;
    }
    value = std::move(slots_[head & mask_]);
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  // Consumer. Whether `f` holds for one that it could pop.
  template <class F>
  bool any_of(F f) const {
    const std::size_t tail = tail_.load(std::memory_order_acquire);
    for (std::size_t i = head_.load(std::memory_order_relaxed); i != tail; ++i)
      if (f(slots_[i & mask_])) return true;
    return false;
  }

  // Any thread. True for the consumer: nothing that it could pop yet. A producer or consumer at work may make the
  // answer old at once.
  bool empty() const { return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_acquire); }

  std::size_t capacity() const { return mask_ + 1; }

 private:
  // Counts that never wrap in practice; the slot is the count modulo capacity.
  alignas(kCacheLineBytes) std::atomic<std::size_t> tail_{0};
  std::size_t known_head_ = 0;  // producer's last look at head_
  alignas(kCacheLineBytes) std::atomic<std::size_t> head_{0};
  std::size_t known_tail_ = 0;  // consumer's last look at tail_
  alignas(kCacheLineBytes) const std::size_t mask_;
  const std::unique_ptr<T[]> slots_;
};

}  // namespace railweave
