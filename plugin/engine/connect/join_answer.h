// The outcome of a handshake for a lane or a probe, reduced to what LaneReconciler, PeerProbe and SessionHealth act on.
// A plain value.
#pragma once

#include <cstdint>
#include <string>

namespace railweave::engine {

struct JoinAnswer {
  enum class Kind : std::uint8_t {
    welcome,          // from the peer, in this session
    duplicate,        // the peer serves the session, and already had this lane
    unknown_session,  // the peer's instance answered, and has no such session
    // another instance than the peer answered, or the asker could not show that it knows the session
    stranger,
    refused_connection,  // the host's kernel has no listener there
    wrong_welcome,       // from another instance, or for another lane
    failed,              // another refusal, an error, or no answer in time
  };
  Kind kind = Kind::failed;
  // the peer's rail on which the connection of a welcome arrived; LaneReconciler checks the index
  int remote_rail = 0;
  std::string why;  // for the log; empty for a welcome
};

}  // namespace railweave::engine
