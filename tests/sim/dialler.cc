#include "tests/sim/dialler.h"

#include <algorithm>
#include <optional>

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;

constexpr protocol::LaneId kLanesMost = 65'000;
constexpr Nanos kConfirmTime = 5s;  // as engine/unconfirmed_lanes has it

}  // namespace

Dialler::Dialler(wire::SimNetwork& net, SessionEnd& near, SessionEnd& far, int lanes_per_pair)
    : net_(net), near_(near), far_(far), pairs_(hooks()) {
  // Rails of equal index first, as subnets would have it.
  const int locals = int(near.host().rails.size()), remotes = int(far.host().rails.size());
  std::vector<engine::RailPairs::Candidate> candidates;
  for (int apart = 0; apart < std::max(locals, remotes); ++apart)
    for (int l = 0; l < locals; ++l)
      for (int r = 0; r < remotes; ++r)
        if (std::abs(l - r) == apart) candidates.push_back({{l, r}, lanes_per_pair});
  pairs_.know(candidates, locals, remotes);
}

engine::RailPairs::Hooks Dialler::hooks() {
  return {.has_link = [this](int rail) { return near_.lanes().has_link(rail); },
          .peer_has_link = [](int) { return true; },
          .chance = [this] { return int(net_.random_below(256)); },
          .long_rest = [](const engine::RailPairs::Pair&) {}};
}

void Dialler::begin(int rail) {
  auto lanes = net_.connect(*near_.host().rails[std::size_t(rail)].link, *far_.host().rails[std::size_t(rail)].link);
  pairs_.begin({rail, rail}, now());
  near_.begin_lane(next_lane_, {rail, rail}, std::move(lanes.first));
  far_.begin_lane(next_lane_++, {rail, rail}, std::move(lanes.second));
  look();
}

void Dialler::stop() {
  stopped_ = true;
  attempts_.clear();
}

void Dialler::look() {
  if (stopped_ || near_.over() || near_.is_leaving()) return;
  const TimePoint t = now();
  const std::vector<engine::RailPair> open = near_.lanes().rails_in_use();  // before the slow ones, which may be about to go
  pairs_.see_lanes(open, near_.lanes().take_slow_pairs(), t);
  if (near_.session().live_lanes() == 0) pairs_.hurry();
  const bool any = std::exchange(knocked_, false) || near_.lanes().peer_is_silent();
  for (const engine::RailPairs::Due& due : any ? pairs_.due_in_silence(t, engine::kPlacesMax - open_and_under_way()) : pairs_.due(t))
    if (open_and_under_way() < due.room) join(*due.pair, due.time);
  near_.lanes().retire(any || !retires_ ? std::vector<engine::Surplus>() : surplus(t));
  const TimePoint next = pairs_.next_change(t);
  if (next >= look_at_) return;
  look_at_ = next;
  net_.at(near_.host().clock.world(next) + 1us, [this, next, alive = alive_] {
    if (!*alive || look_at_ != next) return;
    look_at_ = TimePoint::max();
    look();
  });
}

// Of a pair with a lane that retires by retire(), one more than the plan says.
std::vector<engine::Surplus> Dialler::surplus(TimePoint t) {
  const auto open = near_.open_lanes();
  std::erase_if(retiring_, [&](const Retiring& r) { return std::ranges::find(open, r.lane, &SessionEnd::OpenLane::id) == open.end(); });
  std::vector<engine::Surplus> all = pairs_.surplus(t);
  for (const Retiring& r : retiring_) {
    const int lanes = int(std::ranges::count(open, r.rails, &SessionEnd::OpenLane::rails));
    const auto planned = std::ranges::find(all, r.rails, &engine::Surplus::rails);
    planned == all.end() ? all.push_back({r.rails, lanes - 1}) : void(planned->keep = std::max(0, std::min(planned->keep, lanes) - 1));
  }
  return all;
}

void Dialler::on_knock(engine::RailPair by) {
  near_.lanes().on_knock();
  pairs_.on_knock(by);
  knocked_ = near_.session().live_lanes() > 0;
  look();
}

void Dialler::on_link_up(int rail) {
  pairs_.wake_local(rail);
  look();
}

void Dialler::retire(engine::RailPair rails, bool retires) {
  if (!retires_) return;
  std::erase_if(retiring_, [&](const Retiring& r) { return r.rails == rails; });
  std::optional<protocol::LaneId> youngest;
  for (const SessionEnd::OpenLane& lane : near_.open_lanes())
    if (lane.rails == rails) youngest = lane.id;
  if (retires && youngest) retiring_.push_back({rails, *youngest});
  look();
}

void Dialler::dial(int near_rail, int far_rail) {
  retires_ = false;
  retiring_.clear();
  join(*pairs_.find({near_rail, far_rail}), engine::RailPairs::kTime);
}

void Dialler::join(engine::RailPairs::Pair& pair, Nanos time) {
  if (stopped_ || next_lane_ >= kLanesMost) return;
  pairs_.try_began(pair, now());
  const engine::RailPair rails = pair.rails;
  auto lanes = net_.connect(*near_.host().rails[std::size_t(rails.local)].link, *far_.host().rails[std::size_t(rails.remote)].link);
  const protocol::LaneId lane = next_lane_++;
  const bool awaited = pair.promises();
  if (awaited) near_.lanes().join_began();
  Attempt& attempt = *attempts_.emplace_back(std::make_unique<Attempt>(Attempt{&pair, lane, std::move(lanes.first), awaited}));
  arriving_[lane] = std::move(lanes.second);
  attempt.near->send_word([this, alive = alive_, lane] {
    if (*alive) arrive(lane);
  });
  net_.after(near_.host().clock.world(time), [this, alive = alive_, lane] {
    if (*alive) answered(lane, Answer::silence);
  });
}

// At the far end.
void Dialler::arrive(protocol::LaneId lane) {
  if (far_.host().fate == Host::Fate::lost_power) return;
  const bool unknown = far_.over() || near_.host().fate == Host::Fate::lost_power;
  const Answer answer = !far_.host().lives() ? Answer::nobody : unknown ? Answer::unknown_session : Answer::welcome;
  arriving_[lane]->send_word([this, alive = alive_, lane, answer] {
    if (!*alive) return;
    answered(lane, answer);
  });
  if (answer == Answer::welcome) await_confirm(lane);
}

void Dialler::await_confirm(protocol::LaneId lane) {
  net_.after(far_.host().clock.world(kConfirmTime), [this, alive = alive_, lane] {
    if (*alive) arriving_.erase(lane);
  });
}

// At the far end. What it sent by this lane before might have led nowhere.
void Dialler::confirmed(protocol::LaneId lane, engine::RailPair rails) {
  const auto it = arriving_.find(lane);
  if (it == arriving_.end()) return;
  std::unique_ptr<wire::SimLane> far = std::move(it->second);
  arriving_.erase(it);
  if (far_.host().lives()) far_.begin_lane(lane, {rails.remote, rails.local}, std::move(far));
}

void Dialler::answered(protocol::LaneId lane, Answer answer) {
  if (answer != Answer::welcome && answer != Answer::silence) arriving_.erase(lane);
  const auto it = std::ranges::find(attempts_, lane, [](const auto& a) { return a->lane; });
  if (it == attempts_.end() || near_.host().fate == Host::Fate::lost_power) return;
  const std::unique_ptr<Attempt> attempt = std::move(*it);
  attempts_.erase(it);
  engine::RailPairs::Pair& pair = *attempt->pair;
  const TimePoint t = now();
  pairs_.try_ended(pair, t);
  if (!near_.over() && answer == Answer::welcome) {
    pairs_.came_up(pair, t);
    attempt->near->send_word([this, alive = alive_, lane, rails = pair.rails] {
      if (*alive) confirmed(lane, rails);
    });
    near_.begin_lane(lane, pair.rails, std::move(attempt->near));
  } else if (!near_.over() && !near_.is_leaving() &&
             (answer == Answer::unknown_session || (answer == Answer::nobody && (near_.session().live_lanes() == 0 || (near_.lanes().peer_is_silent() && pair.up == 0))))) {
    on_over(Status(Code::remote, Scope::session, "the peer's host knows nothing of the session"));
  } else if (answer != Answer::welcome) {
    pairs_.failed(pair, t);
  }
  if (attempt->awaited) near_.lanes().join_ended();
  look();
}

}  // namespace railweave::sim
