// The side of a session that does not dial, and whose lanes are all gone, or silent: in virtual time what engine/knock does. Asks the
// peer's host whether there is still who serves the session.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/lane_plan.h"
#include "tests/sim/session_end.h"

namespace railweave::sim {

class Knock {
 public:
  Knock(wire::SimNetwork& net, SessionEnd& near, SessionEnd& far) : net_(net), near_(near), far_(far) {}
  ~Knock() { *alive_ = false; }
  Knock(const Knock&) = delete;
  Knock& operator=(const Knock&) = delete;

  std::function<void(const Status& why)> on_over;  // there is nobody
  std::function<void(engine::RailPair)> on_heard;  // by the peer, who serves the session; its rail first

  // Asks by each pair of rails, and again until there are lanes, and one is heard.
  void look();

 private:
  struct Question {
    std::unique_ptr<wire::SimLane> near, far;
  };
  bool wants() const;
  void ask(HostRail& near, HostRail& far);

  wire::SimNetwork& net_;
  SessionEnd& near_;
  SessionEnd& far_;
  std::vector<std::shared_ptr<Question>> asked_;  // since the last look
  bool asks_ = false;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace railweave::sim
