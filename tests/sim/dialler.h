// The side of a session that dials its lanes, and dials again those that are lost: in virtual time what engine/lane_upkeep does. Which
// pairs of rails, and when, is for the shipped rules (engine/rail_pairs). A connection always comes up or is refused, or says nothing.
// The far end has a lane once the dialler's confirm is there (docs/protocol.md, "Handshake").
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/rail_pairs.h"
#include "tests/sim/session_end.h"

namespace railweave::sim {

class Dialler {
 public:
  Dialler(wire::SimNetwork& net, SessionEnd& near, SessionEnd& far, int lanes_per_pair);
  ~Dialler() { *alive_ = false; }
  Dialler(const Dialler&) = delete;
  Dialler& operator=(const Dialler&) = delete;

  // The lane that made the session: at both ends at once.
  void begin(int rail);
  void look();
  // The far end hears nothing, or is without lanes.
  void on_knock(engine::RailPair by);
  // Of the near host: pairs of that rail rest no longer.
  void on_link_up(int rail);
  // The near end leaves or is over: nothing is dialled any more, and what was is closed.
  void stop();
  // The youngest lane of that pair retires, whatever the plan says; or no longer.
  void retire(engine::RailPair rails, bool retires);
  // A lane of that pair, likewise. From now on none retires.
  void dial(int near_rail, int far_rail);
  protocol::LaneId lanes_ever() const { return next_lane_; }

  std::function<void(const Status& why)> on_over;  // the peer's host says that there is nobody

 private:
  struct Attempt {
    engine::RailPairs::Pair* pair;
    protocol::LaneId lane;
    std::unique_ptr<wire::SimLane> near;
    bool awaited;
  };
  enum class Answer { welcome, unknown_session, nobody, silence };

  engine::RailPairs::Hooks hooks();
  int open_and_under_way() const { return int(near_.lanes().rails_in_use().size() + attempts_.size()); }
  std::vector<engine::Surplus> surplus(TimePoint now);
  void join(engine::RailPairs::Pair& pair, Nanos time);
  void arrive(protocol::LaneId lane);
  void await_confirm(protocol::LaneId lane);
  void confirmed(protocol::LaneId lane, engine::RailPair rails);
  void answered(protocol::LaneId lane, Answer answer);
  TimePoint now() const { return near_.host().clock.local(net_.now()); }

  wire::SimNetwork& net_;
  SessionEnd& near_;
  SessionEnd& far_;
  engine::RailPairs pairs_;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  std::map<protocol::LaneId, std::unique_ptr<wire::SimLane>> arriving_;  // the far ends of attempts: unconfirmed
  protocol::LaneId next_lane_ = 0;
  struct Retiring {
    engine::RailPair rails;
    protocol::LaneId lane;
  };
  std::vector<Retiring> retiring_;       // by retire()
  TimePoint look_at_ = TimePoint::max();
  bool stopped_ = false, knocked_ = false, retires_ = true;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace railweave::sim
