// How a simulated host reaches the far end of a session: by a simulated lane, on which a word goes there and the answer
// comes back. The far host answers as a host does: this file copies who is refused and why from engine/connect/acceptor
// (accept_join, on_confirmed). The far host has a lane once the dialler's confirm is there (docs/internals/protocol.md,
// "Handshake"). A join takes its order's time as a whole; on a host that time begins anew when the connection stands.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/connect/lane_dialler.h"
#include "tests/sim/session_end.h"
#include "wire/sim/network.h"

namespace railweave::sim {

class SimDialler final : public engine::LaneDialler {
 public:
  SimDialler(wire::SimNetwork& net, SessionEnd& near, SessionEnd& far) : net_(net), near_(near), far_(far) {}
  SimDialler(const SimDialler&) = delete;
  SimDialler& operator=(const SimDialler&) = delete;

  std::function<void()> after_answer;
  std::function<void(engine::RailPair by)> on_question;  // of the far end, who serves the session; its rail first

  Result<std::unique_ptr<engine::Join>> join(const engine::JoinOrder& order, Answered answered) override;
  std::string why_no_route(int, const engine::Route&) override { return {}; }

  int lanes_dialled() const { return lanes_dialled_; }  // ever

 private:
  // One handshake, at both ends.
  struct Handshake {
    engine::JoinOrder order;
    Answered answered;                         // null: it was given, or nobody waits for it
    std::unique_ptr<wire::SimLane> near, far;  // null: closed, or a session has it
    bool arrived = false;                      // the far host knows
  };
  class SimJoin;

  std::function<void()> later(const std::shared_ptr<Handshake>& handshake, std::function<void(Handshake&)> act);
  void arrive(Handshake& handshake);
  engine::JoinAnswer answer_of_far(const engine::JoinOrder& order);
  void give(Handshake& handshake, const engine::JoinAnswer& answer);
  void take(Handshake& handshake, const engine::RailPair& where, bool doubtful);
  void confirmed(Handshake& handshake, const engine::RailPair& where);
  void forget_closed();

  wire::SimNetwork& net_;
  SessionEnd& near_;
  SessionEnd& far_;
  int lanes_dialled_ = 0;
  std::vector<std::shared_ptr<Handshake>> under_way_;  // the network's events come later, perhaps
};

}  // namespace railweave::sim
