#include "engine/health/carrying_pairs.h"

#include <algorithm>

namespace railweave::engine {

void CarryingPairs::carries(const RailPair& rails) {
  if (const auto known = std::ranges::find(pairs_, rails, &Pair::rails); known != pairs_.end())
    known->lost_at.reset();
  else
    pairs_.push_back({.rails = rails, .lost_at = {}});
}

void CarryingPairs::heard(TimePoint at) { heard_at_ = std::max(heard_at_, at); }

void CarryingPairs::note_lost(TimePoint now, const std::vector<RailPair>& open) {
  for (Pair& pair : pairs_)
    if (!pair.lost_at && std::ranges::find(open, pair.rails) == open.end()) pair.lost_at = now;
}

std::vector<RailPair> CarryingPairs::all() const {
  std::vector<RailPair> all;
  for (const Pair& pair : pairs_) all.push_back(pair.rails);
  return all;
}

bool CarryingPairs::speaks_for_peer(const RailPair& rails) const {
  const auto known = std::ranges::find(pairs_, rails, &Pair::rails);
  return known != pairs_.end() && speaks(*known);
}

void CarryingPairs::denied(TimePoint now, const RailPair& rails, const Status& loss) {
  if (const auto known = std::ranges::find(pairs_, rails, &Pair::rails); known != pairs_.end()) known->denied = true;
  if (loss.ok() || !loss_.ok()) return;
  loss_ = loss;
  denied_at_ = now;
}

void CarryingPairs::forget_denials() {
  if (!loss_.ok()) loss_ = {};
  for (Pair& pair : pairs_) pair.denied = false;
}

Status CarryingPairs::verdict(TimePoint now) const {
  if (loss_.ok() || now >= denied_at_ + kOthersMost) return loss_;
  const bool all = std::ranges::all_of(pairs_, [this](const Pair& pair) { return pair.denied || !speaks(pair); });
  return all ? loss_ : Status();
}

}  // namespace railweave::engine
