// What a challenge leaves behind (challenge.h): a key of one connection, under which the Hellos that follow are sealed,
// so that none was altered or said on another connection; and the secret of a session, which those that join it show.
// Threads: any.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "engine/admission/secret.h"
#include "railweave/status.h"

namespace railweave::engine {

inline constexpr std::size_t kSealBytes = 2 * kTagBytes;
// Follows a Hello: the connection's tag, then the session's (zeroes where none is shown).
using Seal = std::array<std::byte, kSealBytes>;

class ConnectionKey {
 public:
  explicit ConnectionKey(const Secret& secret) : secret_(secret) {}

  // The secret of the session that this connection begins.
  Result<Secret> session_secret() const;

  // What its TLS begins with (docs/operate/encryption.md).
  Result<Secret> tls_secret() const;

  // `session`: shown; null for none. Errors: Code::exhausted.
  Result<Seal> seal(Role by, std::span<const std::byte> hello, const Secret* session) const;
  // Errors: Code::remote when the seal is none of `by` on this connection and of this Hello.
  Status check(Role by, std::span<const std::byte> hello, const Seal& seal) const;
  // Errors: Code::remote when `by` did not show that it knows this session's secret.
  Status check_session(Role by, const Seal& seal, const Secret& session) const;

 private:
  Secret secret_;
};

}  // namespace railweave::engine
