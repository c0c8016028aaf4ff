// The memory of a lane's slots: whole pages of their own, because the pages of registered memory may be left out of a
// forked child. Threads: one at a time.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "railweave/status.h"

namespace railweave::wire::verbs {

class SlotMemory {
 public:
  // Errors: exhausted (no memory).
  static Result<SlotMemory> allocate(std::size_t bytes);

  SlotMemory() = default;
  SlotMemory(SlotMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  SlotMemory& operator=(SlotMemory&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~SlotMemory() { reset(); }

  std::span<std::byte> bytes() const { return bytes_; }
  void reset();  // frees the memory
  // Never frees the memory: the device may still write to it.
  void abandon() { bytes_ = {}; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace railweave::wire::verbs
