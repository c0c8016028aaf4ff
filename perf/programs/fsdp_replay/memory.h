// Counts the device's memory in bytes. Has no addresses, so no fragmentation.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace railweave::perf::fsdp_replay {

class Memory {
 public:
  Memory(std::size_t capacity, std::size_t resident) : capacity_(capacity), used_(resident), most_(resident) {}

  bool allocate(std::size_t bytes) {
    if (used_ + bytes > capacity_) return false;
    used_ += bytes;
    most_ = std::max(most_, used_);
    return true;
  }
  // REQUIRES: `bytes` are allocated.
  void free(std::size_t bytes) {
    assert(bytes <= used_);
    used_ -= bytes;
  }
  std::size_t used() const { return used_; }
  std::size_t most() const { return most_; }

 private:
  const std::size_t capacity_;
  std::size_t used_, most_;
};

}  // namespace railweave::perf::fsdp_replay
