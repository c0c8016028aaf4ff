#include "tests/sim/lane_keeping.h"

#include <utility>

namespace railweave::sim {

LaneKeeping::LaneKeeping(wire::SimNetwork& net, SessionEnd& a, SessionEnd& b, int lanes_per_pair,
                         engine::LoggedAbsences& told)
    : net_(net),
      a_(a),
      b_(b),
      lanes_per_pair_(lanes_per_pair),
      logged_absences_(told),
      timers_of_a_(net, a),
      timers_of_b_(net, b),
      dialler_of_a_(net, a, b),
      dialler_of_b_(net, b, a),
      retirement_(a) {
  timers_of_a_.after_task = dialler_of_a_.after_answer = [this] { retirement_.say_again(); };
  dialler_of_b_.on_question = [this](engine::RailPair by) { on_question(by); };
  a.on_lanes_wanted = [this] { poll(); };
  b.on_lanes_wanted = [this] {
    if (probe_) probe_->poll();
  };
  b.on_lane_stands = [this] {
    if (probe_) probe_->on_lane();
  };
}

LaneKeeping::~LaneKeeping() { *alive_ = false; }

void LaneKeeping::begin(int rail) {
  const engine::RailPair rails{rail, rail};
  auto lanes = net_.connect(*a_.host().rails[std::size_t(rail)].link, *b_.host().rails[std::size_t(rail)].link);
  a_.begin_lane(0, rails, std::move(lanes.first), false);
  b_.begin_lane(0, rails, std::move(lanes.second), false);
  const engine::LaneReconciler::Options options{lanes_per_pair_, [this] { return int(net_.random_below(256)); }};
  reconciler_ = std::make_unique<engine::LaneReconciler>(
      engine::SessionAccess{timers_of_a_, dialler_of_a_, a_.lanes(), a_.host().own}, options, b_.host().announced,
      engine::LaneReconciler::FirstLane{rails, rail}, logged_absences_);
  probe_ = std::make_unique<engine::PeerProbe>(
      engine::SessionAccess{timers_of_b_, dialler_of_b_, b_.lanes(), b_.host().own}, a_.host().announced);
  poll();
}

void LaneKeeping::poll() {
  if (reconciler_) reconciler_->poll();
  retirement_.say_again();
}

void LaneKeeping::on_link(SessionEnd& end, int rail, bool up) {
  end.set_link(rail, up);
  if (!up || &end != &a_) return;
  if (reconciler_) reconciler_->on_link_up(rail);
  retirement_.say_again();
}

void LaneKeeping::on_peer_rail(const SessionEnd& end, int rail, const engine::PeerRail& is) {
  if (&end == &b_ && probe_) probe_->on_peer_rail(rail, is);
  if (&end == &a_ && reconciler_) reconciler_->on_peer_rails({{rail, is}});
  retirement_.say_again();
}

void LaneKeeping::on_question(const engine::RailPair& by) {
  if (reconciler_) reconciler_->on_probe(by, Address::Family::v4, b_.host().announced);
  retirement_.say_again();
}

void LaneKeeping::stop(const SessionEnd& end) {
  if (&end == &b_) return probe_.reset();
  reconciler_.reset();
  retirement_.stop();
}

void LaneKeeping::stop_soon(const SessionEnd& end) {
  net_.after(Nanos(0), [this, &end, alive = alive_] {
    if (*alive) stop(end);
  });
}

}  // namespace railweave::sim
