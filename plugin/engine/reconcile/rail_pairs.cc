#include "engine/reconcile/rail_pairs.h"

#include <algorithm>
#include <utility>

namespace railweave::engine {
namespace {

bool contains(const std::vector<RailPair>& pairs, const RailPair& rails) {
  return std::ranges::find(pairs, rails) != pairs.end();
}

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
  // the last call that may throw before pairs_ is whole again: dials refer to pairs
  now.reserve(pairs_.size() + fresh.size());
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
  choose_primary();
}

void RailPairs::begin(const RailPair& first, TimePoint t, bool astray) {
  Pair* known = find(first);
  if (!known) {  // the connection goes by an address that neither side announced
    known = pairs_.emplace_back(std::make_unique<Pair>()).get();
    known->rails = first;
  }
  known->up = 1;
  known->up_since = t;
  for (const auto& pair : pairs_) pair->is_primary = pair.get() == known && !astray;
  choose_primary();
  count_lanes(t);
}

// Chooses the primary pairs, which have lanes while every rail works. Earlier choices stay, because their lanes exist,
// unless a new choice needs fewer pairs. A new rail may then replace a pair that covered for it from the start.
void RailPairs::choose_primary() {
  std::vector<RailPair> primary, candidates;
  for (const auto& pair : pairs_) {
    if (pair->has_way) candidates.push_back(pair->rails);
    if (pair->has_way && pair->is_primary) primary.push_back(pair->rails);
    local_[pair->rails.local], remote_[pair->rails.remote];
  }
  primary = choose_pairs(candidates, primary, local_rails_, remote_rails_);
  const std::vector<RailPair> anew = choose_pairs(candidates, {}, local_rails_, remote_rails_);
  if (anew.size() < primary.size()) primary = anew;
  for (const auto& pair : pairs_) pair->is_primary = contains(primary, pair->rails);
}

bool RailPairs::any_up() const {
  return std::ranges::any_of(pairs_, [](const auto& pair) { return pair->up > 0; });
}

void RailPairs::count_lanes(TimePoint t) {
  const auto see = [&](std::map<int, RailBackoff>& side, int RailPair::*which) {
    for (auto& [rail, rest] : side) {
      int lanes = 0;
      for (const auto& pair : pairs_) lanes += pair->rails.*which == rail ? pair->up : 0;
      rest.see(lanes, t);
    }
  };
  see(local_, &RailPair::local);
  see(remote_, &RailPair::remote);
}

void RailPairs::see_lanes(const std::vector<RailPair>& open, const std::vector<RailPair>& slow, TimePoint t) {
  slow_.insert(slow_.end(), slow.begin(), slow.end());
  std::vector<Loss> losses;
  for (const auto& pair : pairs_) {
    const int before = std::exchange(pair->up, int(std::ranges::count(open, pair->rails)));
    if (pair->up > 0 && !pair->carried()) pair->up_since = t;  // the lanes came before the pair was known
    if (pair->up >= before) continue;
    const bool too_slow = std::erase(slow_, pair->rails) > 0;
    if (!is_retiring(*pair, t)) losses.push_back({pair.get(), too_slow});
  }
  count_lanes(t);
  blame_rails(losses, t);
  for (const Loss& loss : losses) lost(*loss.pair, loss.too_slow, t);
}

void RailPairs::lost(Pair& pair, bool too_slow, TimePoint t) {
  if (t - pair.up_since >= Backoff::kSteady) pair.named = false;
  pair.backoff.lost(t, pair.up_since, too_slow, hooks_.jitter);
  name_long_backoff(pair);
}

// Counts one loss for each rail: lanes that are lost together have one cause. While no lane is left, no rail is blamed:
// any rail may be the bad one.
void RailPairs::blame_rails(const std::vector<Loss>& losses, TimePoint t) {
  if (!any_up()) return;
  const auto blame = [&](std::map<int, RailBackoff>& side, int RailPair::*which) {
    for (auto& [rail, rest] : side) {
      bool lost = false, too_slow = false;
      for (const Loss& loss : losses)
        if (loss.pair->rails.*which == rail) lost = true, too_slow |= loss.too_slow;
      if (lost && !rest.has_lanes()) rest.lost(t, too_slow, hooks_.jitter);
    }
  };
  blame(local_, &RailPair::local);
  blame(remote_, &RailPair::remote);
}

void RailPairs::name_long_backoff(Pair& pair) {
  if (pair.backoff.last() > kBackoffUnnamed && pair.carried() && !std::exchange(pair.named, true))
    hooks_.long_backoff(pair);
}

void RailPairs::expedite() {
  for (const auto& pair : pairs_)
    if (pair->carried()) pair->backoff.end_by(std::max(pair->tried_at, pair->up_since) + kRestInSilence);
}

void RailPairs::wake_local(int rail) {
  for (const auto& pair : pairs_)
    if (pair->rails.local == rail) pair->backoff.end();
  if (const auto known = local_.find(rail); known != local_.end()) known->second.forgive();
}

void RailPairs::wake_remote(int rail) {
  for (const auto& pair : pairs_)
    if (pair->rails.remote == rail) pair->backoff.end();
  if (const auto known = remote_.find(rail); known != remote_.end()) known->second.forgive();
}

// Pairs that were not tried for the longest time come first.
std::vector<RailPairs::Due> RailPairs::due_in_silence(TimePoint t, int places) const {
  std::vector<Pair*> likely, others;
  int likely_under_way = 0, others_under_way = 0;
  for (const auto& pair : pairs_) {
    const bool is_likely = pair->carried() || pair->probed;
    (is_likely ? likely_under_way : others_under_way) += pair->joining;
    if (pair->has_way && hooks_.has_link(pair->rails.local) && pair->joining == 0 &&
        t - pair->tried_at >= kRestInSilence)
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

void RailPairs::on_probe(const RailPair& by) {
  if (Pair* pair = find(by)) pair->probed = true;
}

void RailPairs::try_began(Pair& pair, TimePoint t) {
  ++pair.joining;
  pair.tried_at = t;
  pair.probed = false;
}

void RailPairs::try_ended(Pair& pair, TimePoint t) {
  --pair.joining;
  pair.tried_at = t;
}

void RailPairs::try_unanswered(Pair& pair, TimePoint t) {
  try_ended(pair, t);
  pair.failed = true;
}

void RailPairs::came_up(Pair& pair, TimePoint t) {
  pair.failed = false;
  pair.up_since = t;
  pair.backoff.came_up();
  ++pair.up;  // so that see_lanes() notices if the lane is gone by then
  count_lanes(t);
}

void RailPairs::failed(Pair& pair, TimePoint t) {
  pair.failed = true;
  if (pair.backoff.is_on(t)) return;
  pair.backoff.failed(t, pair.carried(), hooks_.jitter);
  name_long_backoff(pair);
  if (!any_up()) return;
  for (RailBackoff* rail : {&local_[pair.rails.local], &remote_[pair.rails.remote]})
    if (!rail->has_lanes()) rail->failed(t, hooks_.jitter);
}

TimePoint RailPairs::next_change(TimePoint t) const {
  TimePoint first = next_change_of_surplus(t);
  for (const auto& pair : pairs_)
    if (pair->backoff.is_on(t)) first = std::min(first, pair->backoff.until());
  for (const auto* side : {&local_, &remote_})
    for (const auto& [rail, rest] : *side) first = std::min(first, rest.next_change(t));
  return first;
}

}  // namespace railweave::engine
