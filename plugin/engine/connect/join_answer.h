// The outcome of a handshake for a lane or a probe, as far as LaneReconciler, PeerProbe and SessionHealth act on it. A
// plain value.
#pragma once

#include <cstdint>
#include <string>

namespace railweave::engine {

struct JoinAnswer {
  enum class Kind : std::uint8_t {
    welcome,          // by the peer, in this session
    duplicate,        // the peer serves the session, and has had that lane
    unknown_session,  // the instance that was asked is the peer's, and has no such session
    // the instance that answers is not the peer, or the asker could not prove that it knows the session
    stranger,
    refused_connection,  // the host's kernel has no listener there
    wrong_welcome,       // by another instance, or to another lane
    failed,              // another refusal, an error, or no answer in time
  };
  Kind kind = Kind::failed;
  // welcome: the peer's rail, where the connection arrived; LaneReconciler checks it, as it knows the peer's rails now
  int remote_rail = 0;
  std::string why;  // for the log; empty for a welcome
};

}  // namespace railweave::engine
