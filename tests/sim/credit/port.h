// Port: one direction of a link. Bytes leave in order, at the link's rate. The queue has no bound; its greatest length
// is kept.
#pragma once

#include <algorithm>
#include <cstdint>

#include "railweave/units.h"

namespace railweave::sim {

class Port {
 public:
  explicit Port(Rate rate) : rate_(rate) {}

  // Returns when the last of these bytes has left.
  TimePoint push(TimePoint now, std::uint64_t bytes) {
    free_at_ = std::max(free_at_, now) + rate_.time_for(double(bytes));
    most_queued_ = std::max(most_queued_, std::uint64_t(rate_.bytes_in(free_at_ - now)));
    bytes_ += bytes;
    return free_at_;
  }
  // Both since forget().
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t most_queued_bytes() const { return most_queued_; }
  void forget() { bytes_ = most_queued_ = 0; }

 private:
  const Rate rate_;
  TimePoint free_at_{};
  std::uint64_t bytes_ = 0, most_queued_ = 0;
};

}  // namespace railweave::sim
