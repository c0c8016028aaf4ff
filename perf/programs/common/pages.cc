#include "common/pages.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/error.h"

namespace railweave::perf {
namespace {

constexpr std::size_t kPageBytes = 4096, kLineBytes = 128;

}  // namespace

Result<Pages> Pages::allocate(std::size_t bytes) {
  bytes = std::max(bytes, kPageBytes);
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (data == MAP_FAILED) return system_error(Scope::engine, "mmap of " + std::to_string(bytes) + " bytes");
  return Pages(static_cast<std::byte*>(data), bytes);
}

Pages::~Pages() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

std::size_t slot_bytes(std::size_t message_bytes) {
  const std::size_t unit = message_bytes >= kPageBytes ? kPageBytes : kLineBytes;
  return std::max(unit, (message_bytes + unit - 1) / unit * unit);
}

}  // namespace railweave::perf
