// What comes of a lane that is dialled, or of a knock: the handshake's outcome, as far as LaneUpkeep, Knock and SessionHealth act on it.
#pragma once

#include <cstdint>
#include <string>

namespace railweave::engine {

struct JoinAnswer {
  enum class Kind : std::uint8_t {
    welcome,             // by the peer, in this session
    duplicate,           // the peer serves the session, and has had that lane
    unknown_session,     // the instance that was asked is the peer's, and has no such session
    stranger,            // somebody answers who is not the peer, or no longer
    refused_connection,  // the kernel of the host has nobody who listens there
    wrong_welcome,       // by another instance, or to another lane
    none,                // another refusal, an error, or no answer in time
  };
  Kind kind = Kind::none;
  int remote_rail = 0;   // welcome: the peer's, where the connection arrived; not checked
  std::string why;       // all but a welcome: for people
};

}  // namespace railweave::engine
