// How LaneReconciler and PeerProbe reach the peer of their session. They know neither sockets nor handshakes: an engine
// dials by RailDialler, the simulated hosts of tests/sim by simulated lanes.
//
// One thread, the one of the session's poll().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/connect/join_answer.h"
#include "engine/reconcile/lane_plan.h"
#include "engine/runtime/timers.h"
#include "engine/session/session_lanes.h"
#include "protocol/session_protocol.h"
#include "railweave/device.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::engine {

// A lane of the session to be dialled.
struct JoinOrder {
  protocol::LaneId lane = 0;
  RailPair rails;
  Route route;
  Nanos time{0};             // to connect, and as much again from then on
  bool is_question = false;  // a probe: our rails are told, and no lane is meant to come of it
};

// A lane on its way. Destroying it gives it up, without an answer.
class Join {
 public:
  virtual ~Join() = default;
  // Sends the confirm and gives the lane to the session. At most once, after a welcome, never for a question. `where`:
  // the rails by which the connection goes. `doubtful`: Session::add_lane(). Errors: no lane comes of the join, though
  // the peer may have heard the confirm. Throws std::bad_alloc.
  virtual Status take(const RailPair& where, bool doubtful) = 0;
};

class LaneDialler {
 public:
  using Answered = std::function<void(const JoinAnswer& answer)>;
  // Calls `answered` once, unless the Join is destroyed before; never from within join(). `answered` may destroy the
  // Join. The dialler outlives its Joins. Errors: no lane can begin on that rail of ours. Throws std::bad_alloc.
  virtual Result<std::unique_ptr<Join>> join(const JoinOrder& order, Answered answered) = 0;
  // Why a connection from that rail of ours would lead nowhere. Empty: it may lead somewhere.
  virtual std::string why_no_route(int rail, const Route& route) = 0;

 protected:
  ~LaneDialler() = default;
};

// The session, and the means, that LaneReconciler and PeerProbe work with. All outlive them.
struct SessionAccess {
  Timers& timers;
  LaneDialler& dialler;
  SessionLanes& lanes;
  const std::vector<Rail>& rails;  // ours
};

}  // namespace railweave::engine
