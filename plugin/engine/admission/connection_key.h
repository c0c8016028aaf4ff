// The key of one connection, which its challenge leaves behind (challenge.h). The Hellos that follow are sealed under
// this key, so that none was altered or sent on another connection. The key of a session's first connection gives the
// secret of the session, which lanes that join the session show.
// Threads: any. Errors: every function may return Code::exhausted.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "engine/admission/secret.h"
#include "railweave/status.h"

namespace railweave::engine {

inline constexpr std::size_t kSealBytes = 2 * kTagBytes;
// Follows a Hello: the connection's tag, then the session's tag (zeroes: no session is shown).
using Seal = std::array<std::byte, kSealBytes>;

class ConnectionKey {
 public:
  explicit ConnectionKey(const Secret& secret) : secret_(secret) {}

  // Returns the secret of the session that this connection begins.
  Result<Secret> session_secret() const;

  // Returns the secret with which the TLS of the connection begins (docs/operate/encryption.md).
  Result<Secret> tls_secret() const;

  // `session`: the secret to show; null: none.
  Result<Seal> seal(Role by, std::span<const std::byte> hello, const Secret* session) const;
  // Errors: Code::remote unless `by` made the seal on this connection for this Hello.
  Status check(Role by, std::span<const std::byte> hello, const Seal& seal) const;
  // Errors: Code::remote unless `by` showed that it knows this session's secret.
  Status check_session(Role by, const Seal& seal, const Secret& session) const;

 private:
  Secret secret_;
};

}  // namespace railweave::engine
