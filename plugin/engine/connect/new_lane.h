// A lane on which two instances agreed in a handshake, until the session has the lane.
// Threads: the reactor's only.
#pragma once

#include <optional>

#include "engine/admission/secret.h"
#include "engine/connect/handshake.h"
#include "engine/connect/identity.h"
#include "engine/reconcile/lane_plan.h"
#include "protocol/session_protocol.h"
#include "wire/bootstrap/tls_stream.h"
#include "wire/port.h"

namespace railweave::engine {

struct NewLane {
  protocol::LaneId id = 0;
  RailPair rails;         // 0, 0 within this host
  int dialled_rail = -1;  // rail of the peer whose address was dialled; -1: not known
  bool by_rails = true;   // false: within this host, by no rail
  Wires::Begun begun = {};
  wire::Bootstrap bootstrap = {};             // empty until the handshake is over
  std::optional<Secret> session_secret = {};  // of a session's first lane, where there is a key
  bool doubtful = false;                      // its pair of rails failed before (Session::add_lane())
};

// Sets the secret that lanes which join the session of this first lane will show. No effect without a key. Errors:
// Code::exhausted.
Status take_session_secret(NewLane& lane, const Handshake::Outcome& first);
// Prepares TLS for a lane by rails, if this end encrypts. REQUIRES: a key if this end encrypts; without one the error
// is Code::remote.
Status begin_encryption(NewLane& lane, const Identity& self, wire::TlsEnd end, const Handshake::Outcome& outcome);

}  // namespace railweave::engine
