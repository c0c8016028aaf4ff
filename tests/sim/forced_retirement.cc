#include "tests/sim/forced_retirement.h"

#include <algorithm>
#include <optional>

namespace railweave::sim {

void ForcedRetirement::retire(const engine::RailPair& rails) {
  std::erase_if(retiring_, [&](const Retiring& r) { return r.rails == rails; });
  std::optional<protocol::LaneId> youngest;
  for (const SessionEnd::OpenLane& lane : end_.open_lanes())
    if (lane.rails == rails) youngest = lane.id;
  if (youngest) retiring_.push_back({rails, *youngest});
}

void ForcedRetirement::serve_again(const engine::RailPair& rails) {
  std::erase_if(retiring_, [&](const Retiring& r) { return r.rails == rails; });
}

void ForcedRetirement::all_serve_again() { retiring_.clear(); }

// A lane that is not the youngest of its pair any more serves again.
void ForcedRetirement::say_again() {
  if (retiring_.empty() || stopped_ || end_.over() || end_.is_dead()) return;
  const std::vector<SessionEnd::OpenLane> open = end_.open_lanes();
  std::erase_if(retiring_, [&](const Retiring& r) {
    const auto youngest = std::ranges::find(open.rbegin(), open.rend(), r.rails, &SessionEnd::OpenLane::rails);
    return youngest == open.rend() || youngest->id != r.lane;
  });
  std::vector<engine::Surplus> all;
  for (const SessionEnd::OpenLane& lane : open) {
    auto its = std::ranges::find(all, lane.rails, &engine::Surplus::rails);
    if (its == all.end()) its = all.insert(its, {lane.rails, 0});
    if (!end_.session().is_retiring(lane.id) &&
        std::ranges::find(retiring_, lane.id, &Retiring::lane) == retiring_.end())
      ++its->keep;
  }
  end_.lanes().retire(all);
}

}  // namespace railweave::sim
