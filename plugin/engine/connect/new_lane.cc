#include "engine/connect/new_lane.h"

#include "base/error.h"

namespace railweave::engine {

Status take_session_secret(NewLane& lane, const Handshake::Outcome& first) {
  if (!first.connection) return {};
  RW_ASSIGN_OR_RETURN(lane.session_secret, first.connection->session_secret());
  return {};
}

Status begin_encryption(NewLane& lane, const Identity& self, wire::TlsEnd end, const Handshake::Outcome& outcome) {
  if (!self.config->encrypt || !lane.by_rails) return {};
  if (!outcome.connection) return Status(Code::remote, Scope::lane, "encryption without a key");
  RW_ASSIGN_OR_RETURN(const Secret secret, outcome.connection->tls_secret());
  RW_ASSIGN_OR_RETURN(lane.bootstrap.tls, wire::TlsStream::make(end, secret.bytes()));
  return {};
}

}  // namespace railweave::engine
