#include "wire/verbs/slot_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>

namespace railweave::wire::verbs {

Result<SlotMemory> SlotMemory::allocate(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Status(Code::exhausted, Scope::lane, fmt::format("no memory for {} bytes of RDMA slots", bytes), errno);
  SlotMemory slots;
  slots.bytes_ = {static_cast<std::byte*>(memory), bytes};
  return slots;
}

void SlotMemory::reset() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
  bytes_ = {};
}

}  // namespace railweave::wire::verbs
