#include "net_perf/message_memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/error.h"

namespace railweave::perf::net_perf {
namespace {

constexpr std::size_t kPageBytes = 4096, kLineBytes = 128;

std::size_t room_for(std::size_t bytes) {
  const std::size_t unit = bytes >= kPageBytes ? kPageBytes : kLineBytes;
  return std::max(unit, (bytes + unit - 1) / unit * unit);
}

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

std::size_t RingMemory::bytes_for(std::size_t slots, std::size_t bytes) { return slots * room_for(bytes); }

std::byte* RingMemory::take(std::size_t bytes) {
  const std::size_t room = room_for(bytes), all = pages_.span().size();
  if (newest_ - oldest_ == kTakenMax) return nullptr;
  if (newest_ == oldest_) {
    if (next_ + room > all) next_ = 0;
  } else {
    const std::size_t oldest_at = taken_[oldest_ % kTakenMax].at;
    const bool wrapped = next_ <= oldest_at;  // also when full: next_ == oldest_at
    if (!wrapped && next_ + room > all) {
      if (room > oldest_at) return nullptr;
      next_ = 0;
    } else if (wrapped && next_ + room > oldest_at) {
      return nullptr;
    }
  }
  taken_[newest_++ % kTakenMax] = Place{next_, room};
  std::byte* place = pages_.span().data() + next_;
  next_ += room;
  return place;
}

}  // namespace railweave::perf::net_perf
