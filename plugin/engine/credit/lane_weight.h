// Decides whether a lane brings so much of its rail's arrivals that the lane competes with the others. The peer's
// statement that nothing waits does not count here: a peer with a large window has all of its data under way. Pure.
//
// Threads: under the lane's claim.
#pragma once

#include <cstdint>

#include "railweave/units.h"

namespace railweave::engine {

class LaneWeight {
 public:
  static constexpr Nanos kSample = std::chrono::milliseconds(10);
  // a heavy lane brings at least 1/kPart of the bytes that arrive in a sample
  static constexpr std::uint64_t kPart = 8;

  // Bytes that arrived until now, by the lane and by all lanes of the rail. A count below the one before begins a new
  // sample.
  void observe(TimePoint now, std::uint64_t lane_bytes, std::uint64_t rail_bytes);
  // True if the lane was heavy in the last whole sample: 1/kPart of the bytes, and 64 KiB in kSample.
  bool is_heavy() const { return heavy_; }

 private:
  TimePoint from_{};                               // the sample's begin; TimePoint{}: no sample yet
  std::uint64_t lane_bytes_ = 0, rail_bytes_ = 0;  // the counts then
  bool heavy_ = false;
};

}  // namespace railweave::engine
