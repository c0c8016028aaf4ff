// A lane that two instances agree on in a handshake, until the session has it. On the reactor's thread only.
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
  int dialled_rail = -1;  // the peer's, whose address was dialled; -1: not known
  bool by_rails = true;   // false: within this host, by no rail
  Wires::Begun begun = {};
  wire::Bootstrap bootstrap = {};             // empty until the handshake is over
  std::optional<Secret> session_secret = {};  // of a first lane, where there is a key
  bool doubtful = false;                      // its pair of rails failed before (Session::add_lane())
};

// Where there is a key: what lanes that join the session of this first one will show.
Status take_session_secret(NewLane& lane, const Handshake::Outcome& first);
// Where we encrypt: what will. REQUIRES: a key, as whoever encrypts has.
Status begin_encryption(NewLane& lane, const Identity& self, wire::TlsEnd end, const Handshake::Outcome& outcome);

}  // namespace railweave::engine
