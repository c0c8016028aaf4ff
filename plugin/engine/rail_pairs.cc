#include "engine/rail_pairs.h"

#include <algorithm>
#include <utility>

namespace railweave::engine {
namespace {

bool contains(const std::vector<RailPair>& pairs, const RailPair& rails) { return std::ranges::find(pairs, rails) != pairs.end(); }

}  // namespace

RailPairs::Pair* RailPairs::find(const RailPair& rails) const {
  const auto known = std::ranges::find_if(pairs_, [&](const auto& pair) { return pair->rails == rails; });
  return known == pairs_.end() ? nullptr : known->get();
}

void RailPairs::know(const std::vector<Candidate>& candidates, int local_rails, int remote_rails) {
  using Pairs = std::vector<std::unique_ptr<Pair>>;
  const auto its = [](Pairs& among, const RailPair& rails) {
    return std::ranges::find_if(among, [&](const auto& pair) { return pair && pair->rails == rails; });
  };
  Pairs fresh, now;
  for (const Candidate& candidate : candidates) {
    if (find(candidate.rails)) continue;
    fresh.push_back(std::make_unique<Pair>());
    fresh.back()->rails = candidate.rails;
  }
  now.reserve(pairs_.size() + fresh.size());  // the last that may throw: who dials refers to pairs
  for (const Candidate& candidate : candidates) {
    const auto before = its(pairs_, candidate.rails);
    now.push_back(std::move(before != pairs_.end() ? *before : *its(fresh, candidate.rails)));
    now.back()->has_way = true;
    now.back()->lanes = candidate.lanes;
  }
  for (auto& pair : pairs_) {
    if (!pair) continue;
    pair->has_way = false;
    now.push_back(std::move(pair));
  }
  pairs_ = std::move(now);
  local_rails_ = local_rails;
  remote_rails_ = remote_rails;
  int turn = 0;
  std::vector<RailPair> all;
  for (const Candidate& candidate : candidates) all.push_back(candidate.rails);
  for (const RailPair& rails : spread_pairs(std::move(all), local_rails, remote_rails)) find(rails)->turn = turn++;
  choose_home();
}

void RailPairs::begin(const RailPair& first, TimePoint t, bool astray) {
  Pair* known = find(first);
  if (!known) {  // by an address that neither announced
    known = pairs_.emplace_back(std::make_unique<Pair>()).get();
    known->rails = first;
  }
  known->up = 1;
  known->up_since = t;
  for (const auto& pair : pairs_) pair->home = pair.get() == known && !astray;
  choose_home();
}

// With every rail at work these have lanes. Those that were chosen stay: their lanes are there.
void RailPairs::choose_home() {
  std::vector<RailPair> home, candidates;
  for (const auto& pair : pairs_) {
    if (pair->has_way) candidates.push_back(pair->rails);
    if (pair->has_way && pair->home) home.push_back(pair->rails);
  }
  home = choose_pairs(candidates, home, local_rails_, remote_rails_);
  for (const auto& pair : pairs_) pair->home = contains(home, pair->rails);
}

void RailPairs::see_lanes(const std::vector<RailPair>& open, const std::vector<RailPair>& slow, TimePoint t) {
  slow_.insert(slow_.end(), slow.begin(), slow.end());
  for (const auto& known : pairs_) {
    Pair& pair = *known;
    const int before = std::exchange(pair.up, int(std::ranges::count(open, pair.rails)));
    if (pair.up > 0 && !pair.carried()) pair.up_since = t;  // its lanes came before anything was known of it
    if (pair.up >= before) continue;
    const bool too_slow = std::erase(slow_, pair.rails) > 0;
    if (pair.rests_until > t) continue;  // its lanes go one after the other, for one reason
    if (t - pair.up_since >= kSteady) pair.rest = Nanos{0}, pair.named = false;
    const bool just_back = pair.rest > Nanos{0} && t - pair.up_since < kJustBack;
    if (too_slow) pair.rest = std::max(pair.rest, (just_back ? kRestSlowBack : kRestSlow) / 2);  // is doubled
    let_rest(pair, t, kRestMostFlapping);
    pair.rest_at_loss = pair.rest;
  }
}

void RailPairs::hurry() {
  for (const auto& pair : pairs_)
    if (pair->carried()) pair->rests_until = std::min(pair->rests_until, std::max(pair->tried_at, pair->up_since) + kRestInSilence);
}

// Of a pair that failed one lane is tried, the others when that is up.
std::vector<RailPairs::Due> RailPairs::due(TimePoint t) {
  std::vector<Due> due;
  for (const auto& pair : pairs_) pair->knocked = false;  // that silence is over
  const std::vector<Pair*> planned = plan(t);
  const auto is_without = [](const Pair& pair) { return pair.up + pair.joining == 0; };
  for (Pair* pair : planned)
    if (is_without(*pair)) due.push_back({pair, pair->home ? kRoomForFirst : kRoomForFirstOfStandIn});
  const int share = share_of_lanes();
  for (Pair* pair : planned) {
    const int joining = pair->joining + (is_without(*pair) ? 1 : 0);
    int missing = (stands_beside(*pair) ? 1 : std::min(pair->lanes, share)) - pair->up - joining;
    if (pair->failed) missing = std::min(missing, 1 - joining);
    for (; missing > 0; --missing) due.push_back({pair, pair->home ? kRoomForMore : kRoomForMoreOfStandIn});
  }
  return due;
}

// Those first that were not tried for the longest time.
std::vector<RailPairs::Due> RailPairs::due_in_silence(TimePoint t, int places) const {
  std::vector<Pair*> likely, others;
  int likely_under_way = 0, others_under_way = 0;
  for (const auto& pair : pairs_) {
    const bool is_likely = pair->carried() || pair->knocked;
    (is_likely ? likely_under_way : others_under_way) += pair->joining;
    if (pair->has_way && hooks_.has_link(pair->rails.local) && pair->joining == 0 && t - pair->tried_at >= kRestInSilence)
      (is_likely ? likely : others).push_back(pair.get());
  }
  const auto by_turns = [](const Pair* pair) { return std::pair(pair->tried_at, pair->turn); };
  std::ranges::stable_sort(likely, {}, by_turns);
  std::ranges::stable_sort(others, {}, by_turns);
  const int under_way = likely_under_way + others_under_way;
  const int left = std::min(kTriesInSilence - under_way, places);
  const int likely_left = std::max((under_way + left + 1) / 2 - likely_under_way, left - int(others.size()));
  const Nanos time = int(likely.size() + others.size()) > left ? kTimeOfMany : kTime;
  std::vector<Due> due;
  for (Pair* pair : likely)
    if (int(due.size()) < std::min(likely_left, left)) due.push_back({pair, kRoomForFirst, time});
  for (Pair* pair : others)
    if (int(due.size()) < left) due.push_back({pair, kRoomForFirst, time});
  return due;
}

void RailPairs::on_knock(const RailPair& by) {
  if (Pair* pair = find(by)) pair->knocked = true;
}

// For another one, while one of its rails carries by its own: a path, no more.
bool RailPairs::stands_beside(const Pair& pair) const {
  if (pair.home) return false;
  return std::ranges::any_of(pairs_, [&](const auto& other) {
    return other->home && other->up > 0 && (other->rails.local == pair.rails.local || other->rails.remote == pair.rails.remote);
  });
}

// Of pairs that are up, and those that do not rest. One that stands in for a better one that rests covers nothing: it makes way again.
// Nor does one that failed and is being dialled: where it leads nowhere, it takes seconds to say so.
std::vector<RailPairs::Pair*> RailPairs::plan(TimePoint t) const {
  std::vector<RailPair> chosen, candidates, others;
  for (const auto& pair : pairs_) {
    if (pair->up > 0 && pair->home) chosen.push_back(pair->rails);
    const bool may = pair->has_way && pair->rests_until <= t && hooks_.has_link(pair->rails.local) && hooks_.peer_has_link(pair->rails.remote);
    if (may && !(pair->failed && pair->joining > 0)) (pair->home ? candidates : others).push_back(pair->rails);
  }
  candidates.insert(candidates.end(), others.begin(), others.end());
  std::vector<Pair*> plan;
  for (const RailPair& rails : choose_pairs(candidates, chosen, local_rails_, remote_rails_))
    if (contains(candidates, rails)) plan.push_back(find(rails));
  return plan;
}

// The most that each pair may have, so that all that belong together have room, also when some rest, beside stand-ins that are there.
int RailPairs::share_of_lanes() const {
  int taken = 0, share = 1;
  for (const auto& pair : pairs_) {
    if (!pair->home) taken += pair->up;
    if (pair->has_way) share = std::max(share, std::min(pair->lanes, kLanesMax));
  }
  const auto all_have = [&](int most) {
    int all = taken;
    for (const auto& pair : pairs_)
      if (pair->home && pair->has_way) all += std::min(pair->lanes, most);
    return all;
  };
  while (share > 1 && all_have(share) > kLanesMax) --share;
  return share;
}

void RailPairs::try_began(Pair& pair, TimePoint t) {
  ++pair.joining;
  pair.tried_at = t;
  pair.knocked = false;
}

void RailPairs::try_ended(Pair& pair, TimePoint t) {
  --pair.joining;
  pair.tried_at = t;
}

void RailPairs::came_up(Pair& pair, TimePoint t) {
  pair.failed = false;
  pair.up_since = t;
  pair.rest = pair.rest_at_loss;
  ++pair.up;  // so that the next look sees if it is gone by then
}

// One that carried before is the likelier to come back.
void RailPairs::failed(Pair& pair, TimePoint t) {
  pair.failed = true;
  if (pair.rests_until <= t) let_rest(pair, t, pair.carried() ? kRestMostRefused : kRestMostFlapping);
}

// Twice as long as the last time, and up to a quarter more by chance: rails of many sessions come back at once.
void RailPairs::let_rest(Pair& pair, TimePoint t, Nanos most) {
  pair.rest = std::min(pair.rest == Nanos{0} ? kRestLeast : 2 * pair.rest, most);
  pair.rests_until = t + pair.rest + pair.rest * hooks_.chance() / 1024;
  if (pair.rest > kRestUnnamed && pair.carried() && !std::exchange(pair.named, true)) hooks_.long_rest(pair);
}

TimePoint RailPairs::first_rested(TimePoint t) const {
  TimePoint first = TimePoint::max();
  for (const auto& pair : pairs_)
    if (pair->rests_until > t) first = std::min(first, pair->rests_until);
  return first;
}

}  // namespace railweave::engine
