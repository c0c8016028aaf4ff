// Whether a lane brings so much of what arrives by its rail that it competes with the others, whatever its peer says of
// what waits: a peer whose window is large has all of its data under way, and nothing waits. Pure; under the lane's
// claim.
#pragma once

#include <cstdint>

#include "railweave/units.h"

namespace railweave::engine {

class LaneWeight {
 public:
  static constexpr Nanos kSample = std::chrono::milliseconds(10);
  // of what arrives in a sample, the lane brings at least one part of so many
  static constexpr std::uint64_t kPart = 8;

  // Bytes that arrived until now by the lane and by all lanes of the rail. A count that went back begins anew.
  void poll(TimePoint now, std::uint64_t lane_bytes, std::uint64_t rail_bytes);
  // In the last whole sample.
  bool is_heavy() const { return heavy_; }

 private:
  TimePoint from_{};  // the sample's begin; never: none yet
  std::uint64_t lane_bytes_ = 0, rail_bytes_ = 0;
  bool heavy_ = false;
};

}  // namespace railweave::engine
