// SimDialler reaches the far end of a session by a simulated lane: a short message goes there, and the answer comes
// back. The far host answers as a host does: this class copies from engine/connect/acceptor (accept_join, on_confirmed)
// which joins are refused, and why. The far host has a lane once the dialler's confirm has arrived
// (docs/internals/protocol.md, "Handshake"). The time of a join's order covers the whole join; on a host it begins anew
// once the connection exists.
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
  std::function<void(engine::RailPair by)> on_question;  // the far end received a peer probe; its rail first

  Result<std::unique_ptr<engine::Join>> join(const engine::JoinOrder& order, Answered answered) override;
  std::string why_no_route(int, const engine::Route&) override { return {}; }

  int lanes_dialled() const { return lanes_dialled_; }  // since the beginning

 private:
  // One handshake, at both ends.
  struct Handshake {
    engine::JoinOrder order;
    Answered answered;                         // null: the answer was given, or the join was cancelled
    std::unique_ptr<wire::SimLane> near, far;  // null: closed, or given to a session
    bool arrived = false;                      // the join arrived at the far host
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
  std::vector<std::shared_ptr<Handshake>> under_way_;  // shared: network events refer to them
};

}  // namespace railweave::sim
