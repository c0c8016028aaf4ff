// The side of a session that dials its lanes, and dials again those that are lost: in virtual time what engine/lane_upkeep does,
// over pairs of rails as engine/lane_plan chooses them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/lane_plan.h"
#include "tests/sim/lifeline.h"

namespace railweave::sim {

class Dialler {
 public:
  Dialler(wire::SimNetwork& net, SessionEnd& near, Lifeline& life, SessionEnd& far, int lanes_per_pair);
  ~Dialler() { *alive_ = false; }
  Dialler(const Dialler&) = delete;
  Dialler& operator=(const Dialler&) = delete;

  // The lane that made the session: at both ends at once.
  void begin(int rail);
  void look();
  // The far end hears nothing, or is without lanes.
  void on_knock();
  // Of the near host: pairs of that rail rest no longer.
  void on_link_up(int rail);
  // The near end leaves or is over: nothing is dialled any more, and what was is closed.
  void stop();
  // A lane of that pair, whatever the plan says.
  void dial(int near_rail, int far_rail);
  protocol::LaneId lanes_ever() const { return next_lane_; }

  std::function<void(const Status& why)> on_over;  // the peer's host says that there is nobody

 private:
  struct Pair {
    engine::RailPair rails;
    int up = 0;
    bool ever_up = false, home = false, failed = false;
    TimePoint tried_at{}, up_since{}, rests_until{};
    Nanos rest{0}, rest_at_loss{0};
  };
  struct Attempt {
    Pair* pair;
    protocol::LaneId lane;
    std::unique_ptr<wire::SimLane> near;
    bool awaited;
  };
  enum class Answer { welcome, unknown_session, nobody, silence };

  void look_at_losses(TimePoint t);
  void hurry();
  void join(Pair& pair);
  void arrive(protocol::LaneId lane, engine::RailPair rails);
  void answered(protocol::LaneId lane, Answer answer);
  void let_rest(Pair& pair, TimePoint t, Nanos most);
  bool has_link(int rail) const { return !near_.host().rails[std::size_t(rail)].link_down; }
  int dialled(const Pair& pair) const;
  bool stands_beside(const Pair& pair) const;
  TimePoint now() const { return near_.host().clock.local(net_.now()); }

  wire::SimNetwork& net_;
  SessionEnd& near_;
  Lifeline& life_;
  SessionEnd& far_;
  const int lanes_per_pair_;
  std::vector<Pair> pairs_;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  std::map<protocol::LaneId, std::unique_ptr<wire::SimLane>> arriving_;  // the far ends of attempts
  protocol::LaneId next_lane_ = 0;
  bool look_comes_ = false, stopped_ = false, knocked_ = false;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace railweave::sim
