#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/pinned_memory.h"

#include <fmt/format.h>

namespace railweave::wire::verbs {

std::uint64_t PinnedMemory::bound_bytes(std::uint64_t limit_bytes) {
  return limit_bytes == PinnedBytes::kUnbounded ? PinnedBytes::kUnbounded : limit_bytes / 2;
}

bool PinnedMemory::has_room(std::uint64_t bytes, std::uint64_t limit_bytes) const {
  return pinned_bytes() + bytes <= bound_bytes(limit_bytes);
}

Status PinnedMemory::take(std::size_t bytes, std::uint64_t limit_bytes) {
  const std::uint64_t before = pinned_.fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes <= bound_bytes(limit_bytes)) return {};
  give_back(bytes);
  return Status(
      Code::exhausted, Scope::lane,
      fmt::format("RDMA lanes of this process pin {} bytes and the next one takes {}, but at most half of the "
                  "limit is used; {}",
                  before, bytes, memlock_hint(limit_bytes)));
}

std::string memlock_hint(std::uint64_t limit_bytes) {
  if (limit_bytes == PinnedBytes::kUnbounded)
    return "RLIMIT_MEMLOCK does not bind this process, so the host or the device has no memory left for more lanes";
  return fmt::format(
      "RLIMIT_MEMLOCK is {} bytes: raise it (ulimit -l unlimited; systemd: LimitMEMLOCK=infinity; docker: "
      "--ulimit memlock=-1)",
      limit_bytes);
}

}  // namespace railweave::wire::verbs
#endif
