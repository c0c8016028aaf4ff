// SpscRing: a bounded queue from one producer thread to one consumer thread. No lock, no allocation after construction.
#pragma once

#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/cache_line.h"

namespace railweave {

// T: default-constructible and copy-assignable. An element stays in its slot until overwritten, so elements should be
// plain values. The producer's or consumer's role may pass to another thread where a claim or a mutex orders the
// change.
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

  // Consumer. True if `f` holds for an element in the queue.
  template <class F>
  bool any_of(F f) const {
    const std::size_t tail = tail_.load(std::memory_order_acquire);
    for (std::size_t i = head_.load(std::memory_order_relaxed); i != tail; ++i)
      if (f(slots_[i & mask_])) return true;
    return false;
  }

  // Threads: any. True for the consumer means that try_pop() would find no element. A push or pop by another thread may
  // make the answer out of date at once.
  bool empty() const { return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_acquire); }

  std::size_t capacity() const { return mask_ + 1; }

 private:
  // tail_ counts pushes, head_ counts pops; neither wraps in practice. The slot is the count modulo capacity.
  alignas(kCacheLineBytes) std::atomic<std::size_t> tail_{0};
  std::size_t known_head_ = 0;  // head_ as the producer last read it
  alignas(kCacheLineBytes) std::atomic<std::size_t> head_{0};
  std::size_t known_tail_ = 0;  // tail_ as the consumer last read it
  alignas(kCacheLineBytes) const std::size_t mask_;
  const std::unique_ptr<T[]> slots_;
};

}  // namespace railweave
