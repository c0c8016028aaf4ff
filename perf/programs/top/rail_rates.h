// The traffic of each rail between two samples of one engine. Pure.
#pragma once

#include <string>
#include <vector>

#include "railweave/stats.h"
#include "railweave/units.h"

namespace railweave::top {

struct RailRate {
  std::string rail;
  int lanes = 0;                        // open ones, at the later sample
  Rate sending, receiving;              // payload
  std::uint64_t outstanding_bytes = 0;  // sent and not yet acknowledged, at the later sample
  std::uint64_t retransmits = 0;        // TCP segments, between the samples
};

// Returns the rails of `later` by name. `elapsed`: from `earlier` to `later`. A counter that fell counts as 0, because
// the rail's lanes were replaced meanwhile.
std::vector<RailRate> rail_rates(const EngineStats& earlier, const EngineStats& later, Nanos elapsed);

}  // namespace railweave::top
