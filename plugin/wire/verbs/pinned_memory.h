// The account of memory that the process's RDMA lanes pin, and the errors of a limit that is too small.
//
// The kernel bounds pinned memory by RLIMIT_MEMLOCK. Lanes take at most half of it, because queues of the device and
// other libraries of the process (NCCL, UCX) pin memory, too.
// Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "railweave/status.h"
#include "wire/verbs/pin_limit.h"

namespace railweave::wire::verbs {

class PinnedMemory {
 public:
  // Returns the bound for all lanes of a process with this limit: half of the limit; PinnedBytes::kUnbounded: none.
  static std::uint64_t bound_bytes(std::uint64_t limit_bytes);
  // Counts `bytes` as pinned. Errors: exhausted, if more than half of `limit_bytes` would be pinned. The message has
  // both numbers and the remedy.
  Status take(std::size_t bytes, std::uint64_t limit_bytes);
  void give_back(std::size_t bytes) { pinned_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::uint64_t pinned_bytes() const { return pinned_.load(std::memory_order_relaxed); }
  // True: `bytes` more would be within the bound.
  bool has_room(std::uint64_t bytes, std::uint64_t limit_bytes) const;

 private:
  std::atomic<std::uint64_t> pinned_{0};  // bytes
};

// Returns "RLIMIT_MEMLOCK is 8388608 bytes: raise it (ulimit -l unlimited; systemd: LimitMEMLOCK=infinity; ...)", or,
// for PinnedBytes::kUnbounded, that the limit is not the cause.
std::string memlock_hint(std::uint64_t limit_bytes);

}  // namespace railweave::wire::verbs
