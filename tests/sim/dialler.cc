#include "tests/sim/dialler.h"

#include <algorithm>

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kJoinTime = 3s, kRestLeast = 100ms, kRestMostRefused = 2s, kRestMostFlapping = 30s, kSteady = 10s, kRestInSilence = 1s;
constexpr std::size_t kAttemptsInSilence = 16;
constexpr std::size_t kPlacesMax = 80;
constexpr protocol::LaneId kLanesMost = 65'000;

}  // namespace

Dialler::Dialler(wire::SimNetwork& net, SessionEnd& near, Lifeline& life, SessionEnd& far, int lanes_per_pair)
    : net_(net), near_(near), life_(life), far_(far), lanes_per_pair_(lanes_per_pair) {
  // Rails of equal index first, as subnets would have it.
  const int locals = int(near.host().rails.size()), remotes = int(far.host().rails.size());
  for (int apart = 0; apart < std::max(locals, remotes); ++apart)
    for (int l = 0; l < locals; ++l)
      for (int r = 0; r < remotes; ++r)
        if (std::abs(l - r) == apart) pairs_.push_back({.rails = {l, r}});
}

void Dialler::begin(int rail) {
  Pair& pair = *std::ranges::find(pairs_, engine::RailPair{rail, rail}, &Pair::rails);
  auto lanes = net_.connect(*near_.host().rails[std::size_t(rail)].link, *far_.host().rails[std::size_t(rail)].link, wire::Placement::ask);
  pair.up = 1;
  pair.up_since = now();
  pair.ever_up = pair.home = true;
  std::vector<engine::RailPair> candidates;
  for (const Pair& one : pairs_) candidates.push_back(one.rails);
  const auto home = engine::choose_pairs(candidates, {pair.rails}, int(near_.host().rails.size()), int(far_.host().rails.size()));
  for (Pair& one : pairs_) one.home = std::ranges::find(home, one.rails) != home.end();
  near_.add_lane(next_lane_, rail, rail, std::move(lanes.first));
  far_.add_lane(next_lane_++, rail, rail, std::move(lanes.second));
  look();
}

void Dialler::stop() {
  stopped_ = true;
  attempts_.clear();
}

void Dialler::look() {
  if (stopped_ || near_.over()) return;
  const TimePoint t = now();
  look_at_losses(t);
  if (near_.session().live_lanes() == 0) hurry();
  if (std::exchange(knocked_, false) || life_.peer_is_silent()) {
    for (Pair& pair : pairs_)
      if (attempts_.size() < kAttemptsInSilence && has_link(pair.rails.local) && dialled(pair) == 0 && t - pair.tried_at >= kRestInSilence) join(pair);
  } else {
    std::vector<engine::RailPair> chosen, candidates, others;
    for (const Pair& pair : pairs_) {
      if (pair.up > 0 && pair.home) chosen.push_back(pair.rails);
      const bool may = pair.rests_until <= t && has_link(pair.rails.local) && !(pair.failed && dialled(pair) > 0);
      if (may) (pair.home ? candidates : others).push_back(pair.rails);
    }
    candidates.insert(candidates.end(), others.begin(), others.end());
    const auto plan = engine::choose_pairs(candidates, chosen, int(near_.host().rails.size()), int(far_.host().rails.size()));
    for (Pair& pair : pairs_) {
      if (std::ranges::find(plan, pair.rails) == plan.end() || std::ranges::find(candidates, pair.rails) == candidates.end()) continue;
      int missing = (stands_beside(pair) ? 1 : lanes_per_pair_) - pair.up - dialled(pair);
      if (pair.failed) missing = std::min(missing, 1 - dialled(pair));
      for (; missing > 0; --missing) join(pair);
    }
  }
  TimePoint first = TimePoint::max();
  for (const Pair& pair : pairs_)
    if (pair.rests_until > t) first = std::min(first, pair.rests_until);
  if (first == TimePoint::max() || std::exchange(look_comes_, true)) return;
  net_.at(near_.host().clock.world(first) + 1us, [this, alive = alive_] {
    if (!*alive) return;
    look_comes_ = false;
    look();
  });
}

bool Dialler::stands_beside(const Pair& pair) const {
  return !pair.home && std::ranges::any_of(pairs_, [&](const Pair& other) {
    return other.home && other.up > 0 && (other.rails.local == pair.rails.local || other.rails.remote == pair.rails.remote);
  });
}

void Dialler::on_knock() {
  knocked_ = near_.session().live_lanes() > 0;
  look();
}

void Dialler::on_link_up(int rail) {
  for (Pair& pair : pairs_)
    if (pair.rails.local == rail) pair.rests_until = {};
  look();
}

void Dialler::look_at_losses(TimePoint t) {
  const auto open = near_.open_lanes();
  for (Pair& pair : pairs_) {
    const int up = int(std::ranges::count_if(open, [&](const auto& l) { return l.local_rail == pair.rails.local && l.remote_rail == pair.rails.remote; }));
    const int before = std::exchange(pair.up, up);
    if (up >= before || pair.rests_until > t) continue;
    if (t - pair.up_since >= kSteady) pair.rest = 0ns;
    let_rest(pair, t, kRestMostFlapping);
    pair.rest_at_loss = pair.rest;
  }
}

void Dialler::hurry() {
  for (Pair& pair : pairs_)
    if (pair.ever_up) pair.rests_until = std::min(pair.rests_until, std::max(pair.tried_at, pair.up_since) + kRestInSilence);
}

int Dialler::dialled(const Pair& pair) const {
  return int(std::ranges::count_if(attempts_, [&](const auto& a) { return a->pair == &pair; }));
}

void Dialler::dial(int near_rail, int far_rail) {
  join(*std::ranges::find(pairs_, engine::RailPair{near_rail, far_rail}, &Pair::rails));
}

void Dialler::join(Pair& pair) {
  if (stopped_ || next_lane_ >= kLanesMost) return;
  pair.tried_at = now();
  const engine::RailPair rails = pair.rails;
  auto lanes = net_.connect(*near_.host().rails[std::size_t(rails.local)].link, *far_.host().rails[std::size_t(rails.remote)].link, wire::Placement::ask);
  const protocol::LaneId lane = next_lane_++;
  const bool awaited = pair.ever_up || pair.rest == 0ns;
  if (awaited) life_.join_began();
  Attempt& attempt = *attempts_.emplace_back(std::make_unique<Attempt>(Attempt{&pair, lane, std::move(lanes.first), awaited}));
  arriving_[lane] = std::move(lanes.second);
  attempt.near->send_word([this, alive = alive_, lane, rails] {
    if (*alive) arrive(lane, rails);
  });
  net_.after(near_.host().clock.world(kJoinTime), [this, alive = alive_, lane] {
    if (*alive) answered(lane, Answer::silence);
  });
}

// At the far end. A dialler that gave up meanwhile is found out by the lane's end.
void Dialler::arrive(protocol::LaneId lane, engine::RailPair rails) {
  if (far_.host().fate == Host::Fate::lost_power) return;
  const bool unknown = far_.over() || near_.host().fate == Host::Fate::lost_power;
  const Answer answer = !far_.host().lives() ? Answer::nobody : unknown ? Answer::unknown_session : Answer::welcome;
  arriving_[lane]->send_word([this, alive = alive_, lane, answer] {
    if (!*alive) return;
    answered(lane, answer);
    arriving_.erase(lane);  // refused, or without a place
  });
  if (answer == Answer::welcome && far_.open_lanes().size() < kPlacesMax) far_.add_lane(lane, rails.remote, rails.local, std::move(arriving_[lane]));
}

void Dialler::answered(protocol::LaneId lane, Answer answer) {
  const auto it = std::ranges::find(attempts_, lane, [](const auto& a) { return a->lane; });
  if (it == attempts_.end() || near_.host().fate == Host::Fate::lost_power) return;
  const std::unique_ptr<Attempt> attempt = std::move(*it);
  attempts_.erase(it);
  Pair& pair = *attempt->pair;
  const TimePoint t = now();
  pair.tried_at = t;
  pair.failed = answer != Answer::welcome;
  if (!near_.over() && answer == Answer::welcome) {
    pair.up_since = t;
    pair.ever_up = true;
    pair.rest = pair.rest_at_loss;
    ++pair.up;
    near_.add_lane(lane, pair.rails.local, pair.rails.remote, std::move(attempt->near));
  } else if (!near_.over() && !near_.leaving() &&
             (answer == Answer::unknown_session || (answer == Answer::nobody && (near_.session().live_lanes() == 0 || (life_.peer_is_silent() && pair.up == 0))))) {
    on_over(Status(Code::remote, Scope::session, "the peer's host knows nothing of the session"));
  } else if (pair.rests_until <= t) {
    let_rest(pair, t, pair.ever_up ? kRestMostRefused : kRestMostFlapping);
  }
  if (attempt->awaited) life_.join_ended();
  look();
}

void Dialler::let_rest(Pair& pair, TimePoint t, Nanos most) {
  pair.rest = std::min(pair.rest == 0ns ? kRestLeast : 2 * pair.rest, most);
  pair.rests_until = t + pair.rest + pair.rest * Nanos::rep(net_.random_below(256)) / 1024;
}

}  // namespace railweave::sim
