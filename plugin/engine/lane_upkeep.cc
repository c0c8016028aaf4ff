#include "engine/lane_upkeep.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "base/without_memory.h"

namespace railweave::engine {

LaneUpkeep::LaneUpkeep(Reactor& reactor, const Identity& self, const InstanceId& peer, int traffic_class,
                       std::shared_ptr<LiveSession> session, std::vector<PeerRail> peer_rails, const RailPair& first, Joined joined)
    : reactor_(reactor), self_(self), peer_(peer), traffic_class_(traffic_class), session_(std::move(session)),
      peer_rails_(std::move(peer_rails)), joined_(std::move(joined)), pairs_(hooks()) {
  know_pairs();
  pairs_.begin(first, now());
}

LaneUpkeep::~LaneUpkeep() {
  if (timer_) reactor_.cancel(timer_);
}

void LaneUpkeep::know_pairs() {
  std::vector<RailPairs::Candidate> candidates;
  for (const RailPair& rails : candidate_pairs(*self_.rails, peer_rails_))
    candidates.push_back({rails, lanes_per_pair(*self_.config, own(rails), peers(rails))});
  pairs_.know(candidates, int(self_.rails->size()), int(peer_rails_.size()));
}

RailPairs::Hooks LaneUpkeep::hooks() {
  return {.has_link = [this](int rail) { return session_->has_link(rail); },
          .chance = [] { return int(random_id()[0]); },
          .long_rest = [this](const RailPairs::Pair& pair) {
            RW_WARN(net, "rail {} to rail {} of {}: lost so often, or so slow, that it rests for {} s", own(pair.rails).name,
                    peers(pair.rails).name, session_->peer(), std::chrono::duration_cast<std::chrono::seconds>(pair.back_off.last()).count());
          }};
}

void LaneUpkeep::on_knock(const RailPair& by) {
  pairs_.on_knock(by);
  knocked_ = !session_->is_without_lanes();
  look();
}

void LaneUpkeep::on_link_up(int rail) {
  pairs_.wake_local(rail);
  look();
}

void LaneUpkeep::on_own_rail(int rail) {
  know_pairs();
  on_link_up(rail);
}

void LaneUpkeep::on_peer_rail(int rail, PeerRail is) {
  peer_rails_.resize(std::max(peer_rails_.size(), std::size_t(rail) + 1));
  peer_rails_[std::size_t(rail)] = std::move(is);
  know_pairs();
  pairs_.wake_remote(rail);
  look();
}

void LaneUpkeep::look() {
  if (session_->over() || session_->is_leaving()) return;
  try {
    const TimePoint t = now();
    const std::vector<RailPair> open = session_->rails_of_lanes();  // before the slow ones, which may be about to go
    pairs_.see_lanes(open, session_->take_slow_pairs(), t);
    if (session_->is_without_lanes()) pairs_.hurry();
    const bool any = std::exchange(knocked_, false) || session_->peer_is_silent();
    for (const RailPairs::Due& due : any ? pairs_.due_in_silence(t, kPlacesMax - open_and_under_way()) : pairs_.due(t)) dial(due);
    session_->retire(any ? std::vector<Surplus>() : pairs_.surplus(t));
    look_later(t);
  } catch (const std::bad_alloc&) {  // lanes that nobody would dial again
    session_->fail(out_of_memory());
  }
}

void LaneUpkeep::dial(const RailPairs::Due& due) {
  if (open_and_under_way() >= due.room) return;
  RailPairs::Pair& pair = *due.pair;
  if (unheard_of_.empty() && next_lane_ > std::numeric_limits<protocol::LaneId>::max()) {
    if (next_lane_++ == std::numeric_limits<protocol::LaneId>::max() + 1u)
      RW_WARN(net, "session with {}: its 65536 lanes are used up, those that are lost stay so", session_->peer());
    return;
  }
  const Rail& rail = own(pair.rails);
  Route route;
  if (!best_route(rail, peers(pair.rails), route)) return;
  auto attempt = std::make_unique<Attempt>();
  attempt->pair = &pair;
  if (unheard_of_.empty()) unheard_of_.push_back(protocol::LaneId(next_lane_++));
  attempt->lane = unheard_of_.back();
  unheard_of_.pop_back();
  attempt->what = rail.name + " to " + wire::to_string(wire::socket_address(route.target.address, route.target.port));
  if (pair.promises()) attempt->joining.emplace(session_);
  const Hello hello = join_hello(self_, peer_, session_->serial(), traffic_class_, attempt->lane, pair.rails);
  Attempt* const raw = attempts_.emplace_back(std::move(attempt)).get();
  pairs_.try_began(pair, now());
  raw->handshake = Handshake::dial(reactor_, dial_spec(self_, rail, route, traffic_class_), hello,
                                   {self_.key, session_->secret()}, now() + due.time,
                                   [this, raw](Handshake::Outcome outcome) { on_join(*raw, std::move(outcome)); });
}

void LaneUpkeep::on_join(Attempt& attempt, Handshake::Outcome outcome) {
  const auto self = std::ranges::find(attempts_, &attempt, [](const auto& a) { return a.get(); });
  const std::unique_ptr<Attempt> over = std::move(*self);  // joining ends with it: after its lane is there
  attempts_.erase(self);
  RailPairs::Pair& pair = *over->pair;
  const TimePoint t = now();
  pairs_.try_ended(pair, t);
  if (session_->over()) return;
  NewLane lane{OwnedFd(), over->lane, pair.rails.local, std::min<int>(outcome.hello.remote_rail, 63)};
  if (outcome.status.ok() && outcome.hello.kind == Hello::Kind::welcome)
    outcome.status = confirm(lane, outcome);
  if (outcome.status.ok() && outcome.hello.kind == Hello::Kind::welcome) {
    // An address may have gone to another rail of theirs. Then it is a lane of that one, and none of this pair.
    if (lane.remote_rail != pair.rails.remote) pairs_.failed(pair, t);
    if (RailPairs::Pair* const its = pairs_.find({lane.local_rail, lane.remote_rail})) pairs_.came_up(*its, t);
    lane.fd = std::move(outcome.fd);
    joined_(*session_, std::move(lane));
    return look();
  }
  const std::string why = outcome.status.ok() ? outcome.hello.reason : outcome.status.message();
  RW_INFO(net, "no lane from {}: {}", over->what, why);
  if (outcome.status.ok() && outcome.hello.refusal == Hello::Refusal::unknown_session && !session_->is_leaving())
    return session_->lose("it says: " + why);
  // Its listeners outlive their addresses (doors.h). A pair that never carried may lead to another host that has the same address.
  const bool nobody_heard = session_->is_without_lanes() || session_->peer_is_silent();
  if (pair.carried() && nobody_heard && !session_->is_leaving()) {
    // Beside its own silent lane it may be a firewall's word.
    if (outcome.status.system_errno() == ECONNREFUSED && (pair.up == 0 || session_->is_without_lanes())) return session_->lose(why, ECONNREFUSED);
    if (outcome.status.ok() && outcome.hello.refusal == Hello::Refusal::stranger) return session_->lose("it says: " + why);
  }
  if (!outcome.spoke) unheard_of_.push_back(over->lane);
  pairs_.failed(pair, t);
  look();
}

Status LaneUpkeep::confirm(NewLane& lane, const Handshake::Outcome& welcome) const {
  RW_TRY(begin_encryption(lane, self_, wire::TlsEnd::client, welcome));
  return send_confirm(welcome, session_->secret());
}

void LaneUpkeep::look_later(TimePoint t) {
  if (timer_) reactor_.cancel(std::exchange(timer_, 0));
  const TimePoint next = pairs_.next_change(t);
  if (next == TimePoint::max()) return;
  timer_ = reactor_.at(next, [this] {
    timer_ = 0;
    look();
  });
}

}  // namespace railweave::engine
