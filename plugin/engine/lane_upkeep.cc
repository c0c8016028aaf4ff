#include "engine/lane_upkeep.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/without_memory.h"

namespace railweave::engine {

LaneUpkeep::LaneUpkeep(Reactor& reactor, const Identity& self, const InstanceId& peer, int traffic_class,
                       std::shared_ptr<LiveSession> session, std::vector<PeerRail> peer_rails, const RailPair& first, Joined joined)
    : reactor_(reactor), self_(self), peer_(peer), traffic_class_(traffic_class), session_(std::move(session)),
      peer_rails_(std::move(peer_rails)), joined_(std::move(joined)) {
  find_pairs();
  Pair* known = find(first);
  if (!known) {  // by an address that neither announced
    known = pairs_.emplace_back(std::make_unique<Pair>()).get();
    known->rails = first;
  }
  known->up = 1;
  known->up_since = now();
  known->home = true;
  choose_home();
}

LaneUpkeep::~LaneUpkeep() {
  if (timer_) reactor_.cancel(timer_);
}

LaneUpkeep::Pair* LaneUpkeep::find(const RailPair& rails) const {
  const auto known = std::ranges::find_if(pairs_, [&](const auto& pair) { return pair->rails == rails; });
  return known == pairs_.end() ? nullptr : known->get();
}

// Those known before keep what they went through; they stay, too, where there is no way any more: lanes may be left of them.
void LaneUpkeep::find_pairs() {
  using Pairs = std::vector<std::unique_ptr<Pair>>;
  const auto known = [](Pairs& among, const RailPair& rails) {
    return std::ranges::find_if(among, [&](const auto& pair) { return pair && pair->rails == rails; });
  };
  const std::vector<RailPair> candidates = candidate_pairs(*self_.rails, peer_rails_);
  Pairs fresh, now;
  for (const RailPair& rails : candidates) {
    if (known(pairs_, rails) != pairs_.end()) continue;
    fresh.push_back(std::make_unique<Pair>());
    fresh.back()->rails = rails;
  }
  now.reserve(pairs_.size() + fresh.size());  // the last that may throw: attempts refer to their pairs
  for (const RailPair& rails : candidates) {
    const auto before = known(pairs_, rails);
    now.push_back(std::move(before != pairs_.end() ? *before : *known(fresh, rails)));
    now.back()->has_way = true;
  }
  for (auto& pair : pairs_) {
    if (!pair) continue;
    pair->has_way = false;
    now.push_back(std::move(pair));
  }
  pairs_ = std::move(now);
}

// With every rail at work these have lanes. Those that were chosen stay: their lanes are there.
void LaneUpkeep::choose_home() {
  std::vector<RailPair> home, candidates;
  for (const auto& pair : pairs_) {
    if (pair->has_way) candidates.push_back(pair->rails);
    if (pair->has_way && pair->home) home.push_back(pair->rails);
  }
  home = choose_pairs(candidates, home, int(self_.rails->size()), int(peer_rails_.size()));
  for (const auto& pair : pairs_) pair->home = std::ranges::find(home, pair->rails) != home.end();
}

template <class Which>
void LaneUpkeep::wake_pairs(const Which& which) {
  for (const auto& pair : pairs_)
    if (which(pair->rails)) pair->rests_until = {};
  look();
}

void LaneUpkeep::on_knock() {
  knocked_ = !session_->is_without_lanes();
  look();
}

void LaneUpkeep::on_link_up(int rail) {
  wake_pairs([&](const RailPair& rails) { return rails.local == rail; });
}

void LaneUpkeep::on_own_rail(int rail) {
  find_pairs();
  choose_home();
  on_link_up(rail);
}

void LaneUpkeep::on_peer_rail(int rail, PeerRail is) {
  peer_rails_.resize(std::max(peer_rails_.size(), std::size_t(rail) + 1));
  peer_rails_[std::size_t(rail)] = std::move(is);
  find_pairs();
  choose_home();
  wake_pairs([&](const RailPair& rails) { return rails.remote == rail; });
}

void LaneUpkeep::look() {
  if (session_->over() || session_->is_leaving()) return;
  try {
    const TimePoint t = now();
    look_at_losses(t);
    if (session_->is_without_lanes()) hurry();
    std::exchange(knocked_, false) || session_->peer_is_silent() ? dial_any(t) : dial_plan(t);
    look_when_rested(t);
  } catch (const std::bad_alloc&) {  // lanes that nobody would dial again
    session_->fail(out_of_memory());
  }
}

// Every pair has its first lane before any has another. Of a pair that failed one is tried, the others when that is up.
void LaneUpkeep::dial_plan(TimePoint t) {
  const std::vector<RailPair> chosen = plan(t);
  for (const RailPair& rails : chosen)
    if (Pair& pair = *find(rails); pair.up + dialled(pair) == 0) join(pair, pair.home ? LiveSession::kPlacesMax : kLanesMostOfStandIns);
  const int share = share_of_lanes();
  for (const RailPair& rails : chosen) {
    Pair& pair = *find(rails);
    int missing = (stands_beside(pair) ? 1 : std::min(wanted_lanes(pair), share)) - pair.up - dialled(pair);
    if (pair.failed) missing = std::min(missing, 1 - dialled(pair));
    // Others may have more than their share: from before this rail was there, or as stand-ins.
    for (; missing > 0; --missing) join(pair, pair.home ? kLanesMostOfStandIns : LiveSession::kLanesMax);
  }
}

// One lane of every pair, those first that were not tried for the longest time.
void LaneUpkeep::dial_any(TimePoint t) {
  std::vector<Pair*> pairs;
  for (const auto& pair : pairs_)
    if (session_->has_link(pair->rails.local) && dialled(*pair) == 0 && t - pair->tried_at >= kRestInSilence) pairs.push_back(pair.get());
  std::ranges::stable_sort(pairs, {}, &Pair::tried_at);
  for (Pair* pair : pairs)
    if (attempts_.size() < kAttemptsInSilence) join(*pair, LiveSession::kPlacesMax);
}

// A pair rests when it has fewer lanes than before: the longer, the sooner after it came up they went.
void LaneUpkeep::look_at_losses(TimePoint t) {
  const std::vector<RailPair> up = session_->rails_of_lanes(), slow = session_->take_slow_pairs();
  slow_.insert(slow_.end(), slow.begin(), slow.end());
  for (const auto& known : pairs_) {
    Pair& pair = *known;
    const int before = std::exchange(pair.up, int(std::ranges::count(up, pair.rails)));
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

// With nothing left, those that carried are tried about once a second: the longest rest is longer than a peer is waited for.
void LaneUpkeep::hurry() {
  for (const auto& pair : pairs_)
    if (pair->up_since != TimePoint{})
      pair->rests_until = std::min(pair->rests_until, std::max(pair->tried_at, pair->up_since) + kRestInSilence);
}

// For another one, while one of its rails carries by its own: a path, no more.
bool LaneUpkeep::stands_beside(const Pair& pair) const {
  if (pair.home) return false;
  return std::ranges::any_of(pairs_, [&](const auto& other) {
    return other->home && other->up > 0 && (other->rails.local == pair.rails.local || other->rails.remote == pair.rails.remote);
  });
}

// Of pairs that are up, and those that do not rest. One that stands in for a better one that rests covers nothing: it makes way again.
// Nor does one that failed and is being dialled: where it leads nowhere, it takes seconds to say so.
std::vector<RailPair> LaneUpkeep::plan(TimePoint t) const {
  std::vector<RailPair> chosen, candidates, others;
  for (const auto& pair : pairs_) {
    if (pair->up > 0 && pair->home) chosen.push_back(pair->rails);
    const bool may = pair->has_way && pair->rests_until <= t && session_->has_link(pair->rails.local);
    if (may && !(pair->failed && dialled(*pair) > 0)) (pair->home ? candidates : others).push_back(pair->rails);
  }
  candidates.insert(candidates.end(), others.begin(), others.end());
  std::vector<RailPair> plan = choose_pairs(candidates, chosen, int(self_.rails->size()), int(peer_rails_.size()));
  std::erase_if(plan, [&](const RailPair& rails) { return std::ranges::find(candidates, rails) == candidates.end(); });
  return plan;
}

int LaneUpkeep::wanted_lanes(const Pair& pair) const {
  return lanes_per_pair(*self_.config, (*self_.rails)[std::size_t(pair.rails.local)], peer_rails_[std::size_t(pair.rails.remote)]);
}

// The most that each pair may have, so that all that belong together have room, also when some rest, beside stand-ins that are there.
int LaneUpkeep::share_of_lanes() const {
  for (int share = LiveSession::kLanesMax;; --share) {
    int all = 0;
    for (const auto& pair : pairs_) {
      if (!pair->home) all += pair->up;
      else if (pair->has_way) all += std::min(wanted_lanes(*pair), share);
    }
    if (all <= LiveSession::kLanesMax || share == 1) return share;
  }
}

int LaneUpkeep::dialled(const Pair& pair) const {
  return int(std::ranges::count(attempts_, &pair, [](const auto& attempt) { return attempt->pair; }));
}

void LaneUpkeep::join(Pair& pair, int lanes_most) {
  if (session_->open_lanes() + int(attempts_.size()) >= lanes_most) return;
  if (unheard_of_.empty() && next_lane_ > std::numeric_limits<protocol::LaneId>::max()) {
    if (next_lane_++ == std::numeric_limits<protocol::LaneId>::max() + 1u)
      RW_WARN(net, "session with {}: its 65536 lanes are used up, those that are lost stay so", session_->peer());
    return;
  }
  const Rail& rail = (*self_.rails)[std::size_t(pair.rails.local)];
  Route route;
  if (!best_route(rail, peer_rails_[std::size_t(pair.rails.remote)], route)) return;
  auto attempt = std::make_unique<Attempt>();
  attempt->pair = &pair;
  if (unheard_of_.empty()) unheard_of_.push_back(protocol::LaneId(next_lane_++));
  attempt->lane = unheard_of_.back();
  unheard_of_.pop_back();
  pair.tried_at = now();
  attempt->what = rail.name + " to " + wire::to_string(wire::socket_address(route.target.address, route.target.port));
  // One that never came up in spite of a try is not what a session whose peer is gone should wait for.
  if (pair.up_since != TimePoint{} || pair.rest == Nanos{0}) attempt->joining.emplace(session_);
  const Hello hello = join_hello(self_, peer_, session_->serial(), traffic_class_, attempt->lane, pair.rails);
  Attempt* const raw = attempts_.emplace_back(std::move(attempt)).get();
  raw->handshake = Handshake::dial(reactor_, dial_spec(self_, rail, route, traffic_class_), hello,
                                   {self_.key, session_->secret()}, now() + kJoinTime,
                                   [this, raw](Handshake::Outcome outcome) { on_join(*raw, std::move(outcome)); });
}

void LaneUpkeep::on_join(Attempt& attempt, Handshake::Outcome outcome) {
  const auto self = std::ranges::find(attempts_, &attempt, [](const auto& a) { return a.get(); });
  const std::unique_ptr<Attempt> over = std::move(*self);  // joining ends with it: after its lane is there
  attempts_.erase(self);
  Pair& pair = *over->pair;
  if (session_->over()) return;
  const TimePoint t = now();
  NewLane lane{OwnedFd(), over->lane, pair.rails.local, pair.rails.remote};
  if (outcome.status.ok() && outcome.hello.kind == Hello::Kind::welcome)
    outcome.status = begin_encryption(lane, self_, wire::TlsEnd::client, outcome);
  const bool welcome = outcome.status.ok() && outcome.hello.kind == Hello::Kind::welcome;
  pair.failed = !welcome;
  pair.tried_at = t;
  if (welcome) {
    pair.up_since = t;
    pair.rest = pair.rest_at_loss;
    ++pair.up;  // so that the next look sees if it is gone by then
    lane.fd = std::move(outcome.fd);
    joined_(*session_, std::move(lane));
    return look();
  }
  const std::string why = outcome.status.ok() ? outcome.hello.reason : outcome.status.message();
  RW_INFO(net, "no lane from {}: {}", over->what, why);
  if (outcome.status.ok() && outcome.hello.refusal == Hello::Refusal::unknown_session && !session_->is_leaving())
    return session_->lose("it says: " + why);
  // Its listeners live as long as its engine. A pair that never carried may lead to another host that has the same address.
  const bool nobody_heard = session_->is_without_lanes() || session_->peer_is_silent();
  if (pair.up_since != TimePoint{} && nobody_heard && !session_->is_leaving()) {
    // Beside its own silent lane it may be a firewall's word.
    if (outcome.status.system_errno() == ECONNREFUSED && (pair.up == 0 || session_->is_without_lanes())) return session_->lose(why, ECONNREFUSED);
    if (outcome.status.ok() && outcome.hello.refusal == Hello::Refusal::stranger) return session_->lose("it says: " + why);
  }
  if (!outcome.spoke) unheard_of_.push_back(over->lane);
  // One that carried before is the likelier to come back.
  if (pair.rests_until <= t) let_rest(pair, t, pair.up_since == TimePoint{} ? kRestMostFlapping : kRestMostRefused);
  look();
}

// Twice as long as the last time, and up to a quarter more by chance: rails of many sessions come back at once.
void LaneUpkeep::let_rest(Pair& pair, TimePoint t, Nanos most) {
  pair.rest = std::min(pair.rest == Nanos{0} ? kRestLeast : 2 * pair.rest, most);
  pair.rests_until = t + pair.rest + pair.rest * random_id()[0] / 1024;
  const bool long_rest = pair.rest > kRestUnnamed && pair.up_since != TimePoint{};
  if (long_rest && !std::exchange(pair.named, true))
    RW_WARN(net, "rail {} to rail {} of {}: lost so often, or so slow, that it rests for {} s",
            (*self_.rails)[std::size_t(pair.rails.local)].name, peer_rails_[std::size_t(pair.rails.remote)].name, session_->peer(),
            std::chrono::duration_cast<std::chrono::seconds>(pair.rest).count());
}

void LaneUpkeep::look_when_rested(TimePoint t) {
  TimePoint first = TimePoint::max();
  for (const auto& pair : pairs_)
    if (pair->rests_until > t) first = std::min(first, pair->rests_until);
  if (timer_) reactor_.cancel(std::exchange(timer_, 0));
  if (first == TimePoint::max()) return;
  timer_ = reactor_.at(first, [this] {
    timer_ = 0;
    look();
  });
}

}  // namespace railweave::engine
