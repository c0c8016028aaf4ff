// Part of RailPairs: the pairs that lack a lane now.
#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/reconcile/rail_pairs.h"

namespace railweave::engine {

// A pair whose last try failed is dialled by one lane. Its other lanes are due when that lane is up.
std::vector<RailPairs::Due> RailPairs::due(TimePoint t) {
  std::vector<Due> due;
  for (const auto& pair : pairs_) pair->probed = false;  // the silence of the probe is over
  const std::vector<Pair*> planned = plan(t);
  const auto is_without = [](const Pair& pair) { return pair.up + pair.joining == 0; };
  for (Pair* pair : planned)
    if (is_without(*pair)) due.push_back({pair, pair->is_primary ? kRoomForFirst : kRoomForFirstOfBackup});
  const int share = share_of_lanes();
  for (Pair* pair : planned) {
    const int joining = pair->joining + (is_without(*pair) ? 1 : 0);
    int missing = (stands_beside(*pair) ? 1 : std::min(pair->lanes, share)) - pair->up - joining;
    if (pair->failed) missing = std::min(missing, 1 - joining);
    if (takes_turns(*pair, t)) missing = std::min(missing, 1 - joining - pair->up);
    for (; missing > 0; --missing) due.push_back({pair, pair->is_primary ? kRoomForMore : kRoomForMoreOfBackup});
  }
  return due;
}

// True: a backup pair of which one rail carries by its primary pair. Such a pair gets one lane, as a path.
bool RailPairs::stands_beside(const Pair& pair) const {
  if (pair.is_primary) return false;
  return std::ranges::any_of(pairs_, [&](const auto& other) {
    return other->is_primary && other->up > 0 &&
           (other->rails.local == pair.rails.local || other->rails.remote == pair.rails.remote);
  });
}

// Returns the pairs that should have lanes, none in backoff. A rail counts as covered only by an open lane of a primary
// pair, because a backup pair retires again.
std::vector<RailPairs::Pair*> RailPairs::plan(TimePoint t) const {
  std::vector<RailPair> chosen, candidates, others;
  for (const auto& pair : pairs_)
    if (pair->up > 0 && pair->is_primary) chosen.push_back(pair->rails);
  for (const Pair* pair : free_pairs(t)) (pair->is_primary ? candidates : others).push_back(pair->rails);
  candidates.insert(candidates.end(), others.begin(), others.end());
  std::vector<Pair*> plan;
  for (const RailPair& rails : choose_pairs(candidates, chosen, local_rails_, remote_rails_))
    if (std::ranges::find(candidates, rails) != candidates.end()) plan.push_back(find(rails));
  return plan;
}

// False for a pair that failed and is being dialled: a try that leads nowhere takes seconds to fail.
bool RailPairs::may_have_lanes(const Pair& pair, TimePoint t) const {
  const bool has_links = hooks_.has_link(pair.rails.local) && hooks_.peer_has_link(pair.rails.remote);
  return pair.has_way && !pair.backoff.is_on(t) && has_links && !(pair.failed && pair.joining > 0);
}

bool RailPairs::takes_turns(const Pair& pair, TimePoint t) const {
  return any_up() && (local(pair).takes_turns(pair.is_primary, t) || remote(pair).takes_turns(pair.is_primary, t));
}

// Returns the pairs that may have lanes, best first. A rail whose pairs take turns contributes one primary and one
// backup pair: those that were not tried for the longest time. While no lane is up, any rail may be the bad one, and no
// pair takes turns.
std::vector<RailPairs::Pair*> RailPairs::free_pairs(TimePoint t) const {
  using Turn = std::pair<const RailBackoff*, bool>;  // of a rail's primary pairs (true) or backup pairs (false)
  const auto turns_for = [&](const Pair& pair) {
    std::vector<Turn> turns;
    for (const RailBackoff* rail : {&local(pair), &remote(pair)})
      if (rail->takes_turns(pair.is_primary, t)) turns.emplace_back(rail, pair.is_primary);
    return turns;
  };
  std::vector<Pair*> free, by_turns;
  std::vector<Turn> taken;
  for (const auto& pair : pairs_) {
    if (may_have_lanes(*pair, t)) free.push_back(pair.get());
    if (pair->joining > 0) std::ranges::copy(turns_for(*pair), std::back_inserter(taken));
  }
  if (!any_up()) return free;
  std::ranges::copy_if(free, std::back_inserter(by_turns),
                       [](const Pair* pair) { return pair->up + pair->joining == 0; });
  std::ranges::stable_sort(by_turns, {}, &Pair::tried_at);
  for (const Pair* pair : by_turns) {
    const std::vector<Turn> turns = turns_for(*pair);
    const auto is_free = [&](const Turn& turn) {
      return turn.first->may_try(turn.second, t) && std::ranges::find(taken, turn) == taken.end();
    };
    if (!std::ranges::all_of(turns, is_free))
      std::erase(free, pair);
    else
      std::ranges::copy(turns, std::back_inserter(taken));
  }
  return free;
}

// Returns the most lanes that each pair may have. All primary pairs then have room, also while some are in backoff,
// beside the open lanes of backup pairs.
int RailPairs::share_of_lanes() const {
  int taken = 0, share = 1;
  for (const auto& pair : pairs_) {
    if (!pair->is_primary) taken += pair->up;
    if (pair->has_way) share = std::max(share, std::min(pair->lanes, kLanesMax));
  }
  const auto all_have = [&](int most) {
    int all = taken;
    for (const auto& pair : pairs_)
      if (pair->is_primary && pair->has_way) all += std::min(pair->lanes, most);
    return all;
  };
  while (share > 1 && all_have(share) > kLanesMax) --share;
  return share;
}

}  // namespace railweave::engine
