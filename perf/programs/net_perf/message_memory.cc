#include "net_perf/message_memory.h"

namespace railweave::perf::net_perf {

std::size_t RingMemory::bytes_for(std::size_t slots, std::size_t bytes) { return slots * slot_bytes(bytes); }

std::byte* RingMemory::take(std::size_t bytes) {
  const std::size_t room = slot_bytes(bytes), all = pages_.span().size();
  if (newest_ - oldest_ == kTakenMax) return nullptr;
  if (newest_ == oldest_) {
    if (next_ + room > all) next_ = 0;
  } else {
    const std::size_t oldest_at = taken_[oldest_ % kTakenMax].at;
    const bool wrapped = next_ <= oldest_at;  // also if full: next_ == oldest_at
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
