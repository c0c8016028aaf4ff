// Round-trip times. Every sample is kept, so percentiles are exact.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "railweave/units.h"

namespace railweave::perf {

class LatencySamples {
 public:
  explicit LatencySamples(std::size_t expected) { samples_.reserve(expected); }
  void add(Nanos sample) { samples_.push_back(sample); }
  std::size_t count() const { return samples_.size(); }

  // Returns the sample that `share` (0..1) of all samples do not exceed (nearest rank). REQUIRES: count() > 0.
  Nanos percentile(double share) const;

  // In microseconds: {"min","p50","p90","p99","max","mean"}; null without samples.
  nlohmann::json to_json() const;

 private:
  std::vector<Nanos> samples_;
};

}  // namespace railweave::perf
