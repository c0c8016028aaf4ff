// What a lane counts. Written by the thread that drives the lane, read by any.
#pragma once

#include <atomic>
#include <cstdint>

namespace railweave::wire {

class Counter {
 public:
  void add(std::uint64_t n) { value_.store(get() + n, std::memory_order_relaxed); }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct LaneCounters {
  Counter payload_bytes, frames, calls;
};

}  // namespace railweave::wire
