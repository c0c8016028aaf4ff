#include "engine/reconcile/lane_reconciler.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "base/log.h"
#include "discovery/rail_hazards.h"

namespace railweave::engine {

namespace {

// TCP retransmits a lost SYN after this time, then after twice as long
constexpr Nanos kAskAnew = std::chrono::seconds(1);

Address::Family other_family(Address::Family than) {
  return than == Address::Family::v4 ? Address::Family::v6 : Address::Family::v4;
}

}  // namespace

LaneReconciler::LaneReconciler(const SessionAccess& session, const Options& options, std::vector<PeerRail> peer_rails,
                               const FirstLane& first, LoggedAbsences& logged)
    : timers_(session.timers),
      dialler_(session.dialler),
      lanes_(session.lanes),
      rails_(session.rails),
      options_(options),
      peer_rails_(std::move(peer_rails)),
      pairs_(hooks()) {
  steady_at_ = now() + WireUpgrade::kFirstWait;
  know_pairs();
  const bool is_astray = first.dialled_rail >= 0 && first.dialled_rail != first.rails.remote;
  pairs_.begin(first.rails, now(), is_astray);
  const RailPair dialled{first.rails.local, first.dialled_rail};
  if (!is_astray || has_other_way(dialled, Address::Family::v4)) return;
  if (logged.may_log_peers())
    RW_WARN(net, "rail {} of {}: {}", peers(dialled).name, lanes_.peer(), astray(first.rails));
  failures_.failed(dialled, astray(first.rails), true);
}

LaneReconciler::~LaneReconciler() {
  if (timer_) timers_.cancel(timer_);
}

void LaneReconciler::know_pairs() {
  std::vector<RailPairs::Candidate> candidates;
  for (const RailPair& rails : candidate_pairs(rails_, peer_rails_))
    candidates.push_back({rails, lanes_per_pair(options_.lanes_per_rail, own(rails), peers(rails))});
  pairs_.know(candidates, int(rails_.size()), int(peer_rails_.size()));
}

RailPairs::Hooks LaneReconciler::hooks() {
  return {.has_link = [this](int rail) { return lanes_.has_link(rail); },
          .peer_has_link =
              [this](int rail) { return !peer_rails_[std::size_t(rail)].link_down || lanes_.is_without_lanes(); },
          .jitter = options_.jitter,
          .long_backoff =
              [this](const RailPairs::Pair& pair) {
                RW_WARN(net, "rail {} to rail {} of {}: lost often or slow; backs off for {} s", own(pair.rails).name,
                        peers(pair.rails).name, lanes_.peer(),
                        std::chrono::duration_cast<std::chrono::seconds>(pair.backoff.last()).count());
              }};
}

void LaneReconciler::on_probe(const RailPair& by, Address::Family family, const std::vector<PeerRail>& peer_rails) {
  lanes_.on_probe();
  bool news = false;
  for (int rail = 0; rail < int(peer_rails.size()); ++rail) {
    if (!take_peer_rail(rail, peer_rails[std::size_t(rail)])) continue;
    RW_INFO(net, "{} reports its rail {}: {}", lanes_.peer(), peer_rails[std::size_t(rail)].name,
            state_of(peer_rails[std::size_t(rail)]));
    news = true;
  }
  if (news) know_pairs();
  pairs_.on_probe(by);
  probed_ = !lanes_.is_without_lanes();
  dial_by_probe(by, family);
  poll();
}

// Dials by the pair and family of a probe, because the probe passed there. A dial that has been under way for long uses
// the other family, or will not retransmit its SYN for seconds. A new dial replaces such a dial.
void LaneReconciler::dial_by_probe(const RailPair& by, Address::Family family) {
  const auto is_long_under_way = [&](const auto& a) {
    return now() - a->began_at >= (a->family == family ? kAskAnew : kTimeOfFirstFamily);
  };
  RailPairs::Pair* const pair = pairs_.find(by);
  if (!pair || pair->up > 0 || !lanes_.has_link(by.local)) return;
  if (Route route; !best_route(own(by), peers(by), route, other_family(family)) || route.source.family != family)
    return;
  const auto is_its = [&](const auto& a) { return a->pair == pair; };
  if (std::ranges::none_of(attempts_, is_its)) return;  // poll() dials the pair when due
  if (std::ranges::any_of(attempts_, [&](const auto& a) { return is_its(a) && !is_long_under_way(a); })) return;
  std::vector<std::unique_ptr<Attempt>> old;  // destroyed last: the session waits while any attempt exists
  for (auto& attempt : attempts_) {
    if (!is_its(attempt)) continue;
    free_again_.push_back(attempt->lane);
    old.push_back(std::move(attempt));
  }
  std::erase(attempts_, nullptr);
  for (std::size_t i = 0; i < old.size(); ++i) pairs_.try_unanswered(*pair, now());
  families_.failed(by, other_family(family));
  (void)dial({pair, kPlacesMax, RailPairs::kTime});
}

void LaneReconciler::on_link_up(int rail) {
  families_.forget([&](const RailPair& rails) { return rails.local == rail; });
  pairs_.wake_local(rail);
  poll();
}

void LaneReconciler::on_own_rail(int rail) {
  know_pairs();
  on_link_up(rail);
}

void LaneReconciler::on_peer_rails(const std::vector<PeerRailUpdate>& news) {
  bool any = false;
  for (const PeerRailUpdate& of : news) any |= take_peer_rail(of.rail, of.is);
  if (any) know_pairs();
  poll();
}

// True: the rail differs from before, and the caller must call know_pairs().
bool LaneReconciler::take_peer_rail(int rail, const PeerRail& is) {
  peer_rails_.resize(std::max(peer_rails_.size(), std::size_t(rail) + 1));
  PeerRail& known = peer_rails_[std::size_t(rail)];
  if (known == is) return false;
  known = is;
  if (is.link_down) return true;
  families_.forget([&](const RailPair& rails) { return rails.remote == rail; });
  pairs_.wake_remote(rail);
  return true;
}

void LaneReconciler::poll() {
  if (lanes_.is_over() || lanes_.is_leaving()) return;
  (void)lanes_.guarded([this] {  // without memory the session fails: no later call would dial
    const TimePoint t = now();
    // read before the slow pairs, whose lanes may be about to end
    const std::vector<RailPair> open = lanes_.rails_in_use();
    pairs_.see_lanes(open, lanes_.take_slow_pairs(), t);
    if (lanes_.is_without_lanes()) pairs_.expedite();
    const bool any = std::exchange(probed_, false) || lanes_.peer_is_silent();
    bool planned_well = false;
    for (int plans = 0; plans < kPlansMost && !planned_well; ++plans) {
      planned_well = true;
      for (const RailPairs::Due& due :
           any ? pairs_.due_in_silence(t, kPlacesMax - open_and_under_way()) : pairs_.due(t))
        planned_well &= dial(due);
    }
    if (!any) upgrade_wires(t);
    lanes_.retire(any ? std::vector<Surplus>() : pairs_.surplus(t));
    poll_at(t);
  });
}

// None: no better wire works for the lane's rail, or the lane's pair of rails is gone.
std::optional<LaneReconciler::Upgrade> LaneReconciler::upgrade_of(const LaneTable::OpenLane& lane) const {
  RailPairs::Pair* const pair = pairs_.find(lane.rails);
  if (!pair || !dialler_.has_better_wire(lane.rails.local, lane.wire)) return std::nullopt;
  return Upgrade{pair, pair->upgrade.due_at(pair->up_since, pair->backoff.last())};
}

void LaneReconciler::upgrade_wires(TimePoint t) {
  for (const LaneTable::OpenLane& lane : lanes_.table().open_lanes()) {
    const std::optional<Upgrade> upgrade = upgrade_of(lane);
    if (!upgrade || t < upgrade->due || !pairs_.may_replace_lane(*upgrade->pair, t)) continue;
    upgrade->pair->upgrade.began(t, lane.wire);
    (void)dial({upgrade->pair, kPlacesMax, RailPairs::kTime}, lane.wire);
  }
}

// Returns when the next lane may be replaced, as far as this depends on time alone. A welcomed lane is not open yet,
// and its wire is not known here.
TimePoint LaneReconciler::next_upgrade() const {
  TimePoint next = steady_at_ > now() ? steady_at_ : TimePoint::max();
  for (const LaneTable::OpenLane& lane : lanes_.table().open_lanes()) {
    const std::optional<Upgrade> upgrade = upgrade_of(lane);
    if (upgrade && upgrade->due > now()) next = std::min(next, upgrade->due);
  }
  return next;
}

bool LaneReconciler::dial(const RailPairs::Due& due, const std::string& better_than) {
  if (open_and_under_way() >= due.room) return true;
  RailPairs::Pair& pair = *due.pair;
  if (free_again_.empty() && next_lane_ > std::numeric_limits<protocol::LaneId>::max()) {
    if (next_lane_++ == std::numeric_limits<protocol::LaneId>::max() + 1u)
      RW_WARN(net, "session with {}: all 65536 lane numbers are used; lost lanes are not replaced", lanes_.peer());
    return true;
  }
  const std::optional<Route> way = find_way(pair);
  if (!way) return false;
  const Route& route = *way;
  auto attempt = std::make_unique<Attempt>();
  const Nanos time = is_short(pair, route) ? std::min(due.time, kTimeOfFirstFamily) : due.time;
  const protocol::LaneId lane = free_number();
  JoinOrder order{.lane = lane, .rails = pair.rails, .route = route, .time = time, .better_than = better_than};
  const auto join = [&] {
    return dialler_.join(order, [this, raw = attempt.get()](const JoinAnswer& answer) {
      (void)lanes_.guarded([&] { on_answer(*raw, answer); });
    });
  };
  Result<std::unique_ptr<Join>> begun = join();
  if (!begun.ok()) {
    attempt->why_probe = begun.status().message();
    RW_INFO(net, "no lane from {}: {}", own(pair.rails).name, attempt->why_probe);
    if (!better_than.empty()) {
      pair.upgrade.failed();
      return true;
    }
    note_undialled(pair, attempt->why_probe);
    if (lanes_.is_without_lanes() || lanes_.peer_is_silent()) {
      order.lane = 0;
      order.is_peer_probe = true;
      begun = join();
    }
  }
  if (!begun.ok()) {
    note_failed_try(pair);
    return false;
  }
  attempt->join = std::move(*begun);
  attempt->pair = &pair;
  attempt->family = route.source.family;
  attempt->link_local = discovery::is_link_local(route.target.address);
  attempt->is_upgrade = !better_than.empty();
  attempt->began_at = now();
  attempt->lane = lane;
  attempt->what = route_text(own(pair.rails), route);
  if (pair.promises() && !order.is_peer_probe) attempt->joining.emplace(lanes_);
  attempts_.push_back(std::move(attempt));
  free_again_.pop_back();
  pairs_.try_began(pair, now());
  return true;
}

// Returns the number of the next lane. The number stays in free_again_ until the dial has begun.
protocol::LaneId LaneReconciler::free_number() {
  if (free_again_.empty()) free_again_.push_back(protocol::LaneId(next_lane_++));
  return free_again_.back();
}

// True: the try gets only kTimeOfFirstFamily. No host behind a router has a link-local address of this link, and the
// kernel looks for the owner of an address for three seconds.
bool LaneReconciler::is_short(const RailPairs::Pair& pair, const Route& route) const {
  const Address::Family family = route.source.family;
  const bool is_unlikely = discovery::is_link_local(route.target.address) || families_.is_doubtful(pair.rails, family);
  return may_change_family(pair, family) || (is_unlikely && has_other_way(pair.rails, family));
}

// Returns a route by the family that is next, or by the other one if the kernel has no route. None: there is no route,
// which counts as a failed try.
std::optional<Route> LaneReconciler::find_way(RailPairs::Pair& pair) {
  const Rail& rail = own(pair.rails);
  std::optional<Route> last;
  for (int families = 0; families < 2; ++families) {
    Route route;
    if (!best_route(rail, peers(pair.rails), route, families_.avoided(pair.rails))) break;
    if (last && last->source.family == route.source.family) break;
    const std::string why = dialler_.why_no_route(pair.rails.local, route);
    if (why.empty()) return route;
    RW_INFO(net, "no lane from {} to rail {} of {}: {}", rail.name, peers(pair.rails).name, lanes_.peer(), why);
    families_.failed(pair.rails, route.source.family);
    last = route;
    note_undialled(pair, why);
  }
  note_failed_try(pair);
  return {};
}

void LaneReconciler::note_undialled(const RailPairs::Pair& pair, const std::string& why) {
  lanes_.try_failed(own(pair.rails).name + ": " + why);
  failures_.failed(pair.rails, why);
}

// Counts a try that ended before there was a connection.
void LaneReconciler::note_failed_try(RailPairs::Pair& pair) {
  pairs_.try_began(pair, now());
  pairs_.try_ended(pair, now());
  pairs_.failed(pair, now());
}

void LaneReconciler::on_answer(Attempt& attempt, const JoinAnswer& answer) {
  using Kind = JoinAnswer::Kind;
  const auto self = std::ranges::find(attempts_, &attempt, [](const auto& a) { return a.get(); });
  assert(self != attempts_.end());
  // destroyed on return: `joining` ends after the lane was added
  const std::unique_ptr<Attempt> over = std::move(*self);
  attempts_.erase(self);
  RailPairs::Pair& pair = *over->pair;
  pairs_.try_ended(pair, now());
  if (lanes_.is_over()) return;
  if (!over->why_probe.empty()) return on_probe_answer(*over, answer);
  if (answer.kind == Kind::welcome) return on_welcome(*over, answer.remote_rail);
  RW_INFO(net, "no lane from {}: {}", over->what, answer.why);
  if (lanes_.on_answer(answer, pair.rails, false)) return;
  // without a confirm the peer has no lane of that number
  if (answer.kind != Kind::duplicate) free_again_.push_back(over->lane);
  if (over->is_upgrade) {  // the pair's other lanes carry
    pair.upgrade.failed();
    return poll();
  }
  if (answer.kind == Kind::wrong_welcome) {
    note_failure(pair, answer.why);
    return poll();
  }
  const bool other_family = may_change_family(pair, over->family) || (families_.is_doubtful(pair.rails, over->family) &&
                                                                      has_other_way(pair.rails, over->family));
  families_.failed(pair.rails, over->family);
  note_failed_join(*over, answer.why, !other_family);
  poll();
}

// No lane comes of a probe, whatever the answer.
void LaneReconciler::on_probe_answer(const Attempt& attempt, const JoinAnswer& answer) {
  free_again_.push_back(attempt.lane);
  if (lanes_.on_answer(answer, attempt.pair->rails, true)) return;
  note_undialled(*attempt.pair, attempt.why_probe);  // still the reason why there is no lane
  pairs_.failed(*attempt.pair, now());
  poll();
}

void LaneReconciler::note_failed_join(const Attempt& attempt, std::string why, bool rests) {
  RailPairs::Pair& pair = *attempt.pair;
  attempt.link_local ? failures_.failed_by_link_local(pair.rails, std::move(why))
                     : failures_.failed(pair.rails, std::move(why));
  if (rests) pairs_.failed(pair, now());
}

void LaneReconciler::on_welcome(Attempt& attempt, int remote_rail) {
  RailPairs::Pair& pair = *attempt.pair;
  const RailPair where{pair.rails.local, remote_rail};
  if (std::size_t(remote_rail) >= peer_rails_.size()) {
    free_again_.push_back(attempt.lane);
    return no_lane(attempt, "a welcome from " + attempt.what + " by rail " + std::to_string(remote_rail) +
                                ", expected below " + std::to_string(peer_rails_.size()));
  }
  if (where != pair.rails && is_surplus(attempt, where)) {
    free_again_.push_back(attempt.lane);
    return poll();
  }
  const Status taken = attempt.join->take(where, failures_.knows(where));
  if (!taken.ok()) return no_lane(attempt, taken.message());
  if (where != pair.rails) note_failure(pair, astray(where));
  steady_at_ = now() + WireUpgrade::kFirstWait;
  failures_.came_up(where);
  if (attempt.is_upgrade) pair.upgrade.came_up();
  if (where == pair.rails) families_.came_up(where, attempt.family);
  if (RailPairs::Pair* const its = pairs_.find(where)) pairs_.came_up(*its, now());
  poll();
}

void LaneReconciler::no_lane(const Attempt& attempt, const std::string& why) {
  RW_INFO(net, "no lane from {}: {}", attempt.what, why);
  if (attempt.is_upgrade)  // the pair's other lanes carry
    attempt.pair->upgrade.failed();
  else
    note_failure(*attempt.pair, why);
  poll();
}

// Handles a connection that arrived at another rail of the peer than the one dialled. The peer's host takes packets for
// either address on both rails, or the address has moved.
// True: the lane is not wanted there. The lane stays unconfirmed, and the peer forgets the lane.
bool LaneReconciler::is_surplus(const Attempt& attempt, const RailPair& where) {
  RailPairs::Pair& pair = *attempt.pair;
  RW_INFO(net, "the connection from {} arrived at rail {} of {}, not at {}", attempt.what, peers(where).name,
          lanes_.peer(), peers(pair.rails).name);
  const bool other_family = may_change_family(pair, attempt.family);
  families_.failed(pair.rails, attempt.family);
  if (other_family) return true;  // the pair is dialled by the other family at once
  const RailPairs::Pair* const its = pairs_.find(where);
  const bool surplus = its && its->up > 0;
  if (surplus) note_failure(pair, astray(where));
  return surplus;
}

bool LaneReconciler::has_other_way(const RailPair& rails, Address::Family than) const {
  Route other;
  return best_route(own(rails), peers(rails), other, than) && other.source.family != than;
}

// True: after a failed try by `from` the pair needs no backoff. The other family has not failed since, and may do.
bool LaneReconciler::may_change_family(const RailPairs::Pair& pair, Address::Family from) const {
  const std::optional<Address::Family> avoided = families_.avoided(pair.rails);
  return (!avoided || *avoided == from) && has_other_way(pair.rails, from);
}

std::string LaneReconciler::astray(const RailPair& where) const {
  return "connections to it arrive at its rail " + peers(where).name +
         ": that host answers ARP for one NIC on the other, and needs `" + discovery::kMendArp + "`, or IPv6";
}

void LaneReconciler::note_failure(RailPairs::Pair& pair, std::string why) {
  failures_.failed(pair.rails, std::move(why));
  pairs_.failed(pair, now());
}

void LaneReconciler::poll_at(TimePoint t) {
  if (timer_) timers_.cancel(std::exchange(timer_, 0));
  const TimePoint next = std::min(pairs_.next_change(t), next_upgrade());
  if (next == TimePoint::max()) return;
  timer_ = timers_.at(next, [this] {
    timer_ = 0;
    poll();
  });
}

}  // namespace railweave::engine
