// The interface by which LaneReconciler and PeerProbe dial the peer of their session, without sockets or handshakes.
// RailDialler implements it for an engine; simulated lanes implement it for the hosts of tests/sim.
//
// Threads: the thread of the session's poll() only.
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

// The dial of one lane, or a peer probe.
struct JoinOrder {
  protocol::LaneId lane = 0;
  RailPair rails;
  Route route;
  Nanos time{0};                 // to connect, and as much again from an established connection on
  bool is_peer_probe = false;    // a peer probe: announces our rails, and brings no lane
  std::string better_than = {};  // a wire: the lane goes by a better one (has_better_wire()); empty: by any
};

// A dial under way. Destroying a Join cancels the dial, without an answer.
class Join {
 public:
  virtual ~Join() = default;
  // Sends the confirm and gives the lane to the session. REQUIRES: a welcome came, the dial is no probe, and take() was
  // not called before. `where`: the rails by which the connection goes. `doubtful`: see Session::add_lane(). Errors: no
  // lane comes of the join, though the peer may have received the confirm. Throws std::bad_alloc.
  virtual Status take(const RailPair& where, bool doubtful) = 0;
};

class LaneDialler {
 public:
  using Answered = std::function<void(const JoinAnswer& answer)>;
  // Begins a dial. Calls `answered` once, unless the Join is destroyed before; never from within join(). `answered` may
  // destroy the Join. Lifetime: the dialler outlives its Joins. Errors: no lane can begin on that rail of ours. Throws
  // std::bad_alloc.
  virtual Result<std::unique_ptr<Join>> join(const JoinOrder& order, Answered answered) = 0;
  // Returns why a connection from that rail of ours would lead nowhere. Empty: it may lead to the peer.
  virtual std::string why_no_route(int rail, const Route& route) = 0;
  // True: a lane from that rail of ours may go by a wire that the list has before `wire`, and lanes to the peer came up
  // by that one. The default: lanes have one wire.
  virtual bool has_better_wire(int /*rail*/, const std::string& /*wire*/) { return false; }

 protected:
  ~LaneDialler() = default;
};

// The session and the means with which LaneReconciler and PeerProbe work. Lifetime: all references outlive both.
struct SessionAccess {
  Timers& timers;
  LaneDialler& dialler;
  SessionLanes& lanes;
  const std::vector<Rail>& rails;  // ours
};

}  // namespace railweave::engine
