// Part of RailPairs: lanes that are too many, such as backup lanes once the primary pairs carry again
// (docs/operate/reliability.md, "Backup lanes").
#include <algorithm>

#include "engine/reconcile/rail_pairs.h"

namespace railweave::engine {

std::vector<Surplus> RailPairs::surplus(TimePoint t) {
  std::vector<Surplus> surplus;
  for (const auto& pair : pairs_) {
    const int keep = is_replaced(*pair, t) ? 0 : pair->lanes;
    if (pair->up <= keep) {
      pair->retires_since = {};
      continue;
    }
    if (pair->retires_since == TimePoint{} || t >= pair->retires_since + kRetireAgain) pair->retires_since = t;
    if (is_retiring(*pair, t)) surplus.push_back({pair->rails, keep, pair->upgrade.replaced_wire()});
  }
  return surplus;
}

bool RailPairs::may_replace_lane(const Pair& pair, TimePoint t) const {
  return pair.up > 0 && pair.up <= pair.lanes && pair.joining == 0 && pair.retires_since == TimePoint{} &&
         may_have_lanes(pair, t);
}

// True: a backup pair, both rails of which carry by their primary pairs.
bool RailPairs::is_replaced(const Pair& pair, TimePoint t) const {
  if (pair.is_primary) return false;
  bool local = false, remote = false;
  for (const auto& other : pairs_) {
    if (!other->is_primary || !is_steady(*other, t)) continue;
    local |= other->rails.local == pair.rails.local;
    remote |= other->rails.remote == pair.rails.remote;
  }
  return local && remote;
}

// Returns when a pair counts as steady. A pair that flapped has to live as long as its last backoff.
TimePoint RailPairs::steady_from(const Pair& pair) const {
  return pair.up_since + std::max(kPrimarySteady, pair.backoff.last());
}

bool RailPairs::is_retiring(const Pair& pair, TimePoint t) const {
  return pair.retires_since != TimePoint{} && t < pair.retires_since + kRetireMost;
}

TimePoint RailPairs::next_change_of_surplus(TimePoint t) const {
  TimePoint first = TimePoint::max();
  const auto at = [&](TimePoint when) {
    if (when > t) first = std::min(first, when);
  };
  const bool any_backup =
      std::ranges::any_of(pairs_, [](const auto& pair) { return pair->up > 0 && !pair->is_primary; });
  for (const auto& pair : pairs_) {
    if (any_backup && pair->is_primary && pair->up > 0) at(steady_from(*pair));
    if (pair->retires_since == TimePoint{}) continue;
    at(pair->retires_since + kRetireMost);
    at(pair->retires_since + kRetireAgain);
  }
  return first;
}

}  // namespace railweave::engine
