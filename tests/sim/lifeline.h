// What the engine decides about the lanes of one end of a session, and when it gives the session up: LiveSession's part in
// docs/reliability.md, with the shipped rules for silence and for hope (engine/lane_signs, engine/lane_hope).
#pragma once

#include <functional>

#include "engine/lane_hope.h"
#include "tests/sim/session_end.h"

namespace railweave::sim {

class Lifeline {
 public:
  // Looks at the signs from now on, as long as the end lives.
  Lifeline(wire::SimNetwork& net, SessionEnd& end, Nanos peer_timeout);
  ~Lifeline() { *alive_ = false; }
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  std::function<void()> on_lane_wanted;
  // The end is to be failed: the world may object.
  std::function<void(const Status& why)> on_over;

  // The peer gave one up; the other side's kernel or the network ended one. Before on_lane_lost().
  void on_condemned() { hope_.raise(now()); }
  void on_lane_reset() { hope_.lane_reset(now(), end_.session().exchanged_segments()); }
  void on_lane_lost(const Status& why);
  void on_lane_back() { hope_.lane_back(now()); }
  bool peer_is_silent() const { return peer_is_silent_; }
  // While lanes are dialled losing the others ends nothing.
  void join_began() { hope_.join_began(); }
  void join_ended();

 private:
  void look();
  void look_in(Nanos local);
  bool look_for_signs(TimePoint t);
  void end_if_hopeless(TimePoint t);
  TimePoint now() const { return end_.host().clock.local(net_.now()); }

  wire::SimNetwork& net_;
  SessionEnd& end_;
  const Nanos peer_timeout_;
  engine::LaneHope hope_;
  bool peer_is_silent_ = false;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace railweave::sim
