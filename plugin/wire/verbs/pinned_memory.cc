#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/pinned_memory.h"

#include <fmt/format.h>

namespace railweave::wire::verbs {

bool PinnedMemory::has_room(std::uint64_t bytes, std::uint64_t limit_bytes) const {
  return limit_bytes == VerbsHost::kUnlimited || pinned_bytes() + bytes <= limit_bytes / 2;
}

Status PinnedMemory::take(std::size_t bytes, std::uint64_t limit_bytes) {
  const std::uint64_t before = pinned_.fetch_add(bytes, std::memory_order_relaxed);
  if (limit_bytes == VerbsHost::kUnlimited || before + bytes <= limit_bytes / 2) return {};
  give_back(bytes);
  return Status(
      Code::exhausted, Scope::lane,
      fmt::format("RDMA lanes of this process pin {} bytes and the next one takes {}, but at most half of the "
                  "limit is used; {}",
                  before, bytes, memlock_hint(limit_bytes)));
}

std::string memlock_hint(std::uint64_t limit_bytes) {
  const std::string limit =
      limit_bytes == VerbsHost::kUnlimited ? std::string("unlimited") : fmt::format("{} bytes", limit_bytes);
  return fmt::format(
      "RLIMIT_MEMLOCK is {}: raise it (ulimit -l unlimited; systemd: LimitMEMLOCK=infinity; docker: "
      "--ulimit memlock=-1)",
      limit);
}

}  // namespace railweave::wire::verbs
#endif
