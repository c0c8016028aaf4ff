#include "tests/sim/lane_keeping.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace railweave::sim {

LaneKeeping::LaneKeeping(wire::SimNetwork& net, SessionEnd& a, SessionEnd& b, int lanes_per_pair, engine::AbsenceTold& told)
    : net_(net), a_(a), b_(b), lanes_per_pair_(lanes_per_pair), told_(told), timers_of_a_(net, a), timers_of_b_(net, b), dialler_of_a_(net, a, b),
      dialler_of_b_(net, b, a) {
  timers_of_a_.after_task = dialler_of_a_.after_answer = [this] { add_retiring(); };
  dialler_of_b_.on_question = [this](engine::RailPair by) { on_question(by); };
  a.on_lanes_wanted = [this] { look(); };
  b.on_lanes_wanted = [this] {
    if (knock_) knock_->look();
  };
  b.on_lane_stands = [this] {
    if (knock_) knock_->on_lane();
  };
}

LaneKeeping::~LaneKeeping() { *alive_ = false; }

void LaneKeeping::begin(int rail) {
  const engine::RailPair rails{rail, rail};
  auto lanes = net_.connect(*a_.host().rails[std::size_t(rail)].link, *b_.host().rails[std::size_t(rail)].link);
  a_.begin_lane(0, rails, std::move(lanes.first), false);
  b_.begin_lane(0, rails, std::move(lanes.second), false);
  const engine::LaneUpkeep::Options options{lanes_per_pair_, [this] { return int(net_.random_below(256)); }};
  upkeep_ = std::make_unique<engine::LaneUpkeep>(engine::SessionAccess{timers_of_a_, dialler_of_a_, a_.lanes(), a_.host().own}, options,
                                                 b_.host().announced, engine::LaneUpkeep::FirstLane{rails, rail}, told_);
  knock_ = std::make_unique<engine::Knock>(engine::SessionAccess{timers_of_b_, dialler_of_b_, b_.lanes(), b_.host().own}, a_.host().announced);
  look();
}

void LaneKeeping::look() {
  if (upkeep_) upkeep_->look();
  add_retiring();
}

void LaneKeeping::on_link(SessionEnd& end, int rail, bool up) {
  end.tell_link(rail, up);
  if (!up || &end != &a_) return;
  if (upkeep_) upkeep_->on_link_up(rail);
  add_retiring();
}

// The rails of `b` are what they were.
void LaneKeeping::on_question(const engine::RailPair& by) {
  if (upkeep_) upkeep_->on_knock(by, Address::Family::v4, b_.host().announced);
  add_retiring();
}

void LaneKeeping::stop(const SessionEnd& end) {
  if (&end == &a_) upkeep_.reset();
  else knock_.reset();
}

void LaneKeeping::stop_soon(const SessionEnd& end) {
  net_.after(Nanos(0), [this, &end, alive = alive_] {
    if (*alive) stop(end);
  });
}

// ------------------------------------------------------------------------------------------ lanes that retire by no plan

void LaneKeeping::retire(const engine::RailPair& rails) {
  std::erase_if(retiring_, [&](const Retiring& r) { return r.rails == rails; });
  std::optional<protocol::LaneId> youngest;
  for (const SessionEnd::OpenLane& lane : a_.open_lanes())
    if (lane.rails == rails) youngest = lane.id;
  if (youngest) retiring_.push_back({rails, *youngest});
  look();
}

void LaneKeeping::serve_again(const engine::RailPair& rails) {
  std::erase_if(retiring_, [&](const Retiring& r) { return r.rails == rails; });
  look();
}

void LaneKeeping::all_serve_again() {
  retiring_.clear();
  look();
}

// LaneUpkeep says at each look which lanes retire, and that no others do. One of each pair in retiring_ does as well: it counts from the youngest
// on, as those of the plan.
void LaneKeeping::add_retiring() {
  if (retiring_.empty() || !upkeep_ || a_.over() || a_.is_dead()) return;
  const std::vector<SessionEnd::OpenLane> open = a_.open_lanes();
  std::erase_if(retiring_, [&](const Retiring& r) {
    const auto youngest = std::ranges::find(open.rbegin(), open.rend(), r.rails, &SessionEnd::OpenLane::rails);
    return youngest == open.rend() || youngest->id != r.lane;
  });
  std::vector<engine::Surplus> all;
  for (const SessionEnd::OpenLane& lane : open) {
    auto its = std::ranges::find(all, lane.rails, &engine::Surplus::rails);
    if (its == all.end()) its = all.insert(its, {lane.rails, 0});
    if (!a_.session().is_retiring(lane.id) && std::ranges::find(retiring_, lane.id, &Retiring::lane) == retiring_.end()) ++its->keep;
  }
  a_.lanes().retire(all);
}

}  // namespace railweave::sim
