// One end of the challenge that comes before the Hellos, without I/O. In the challenge each end shows the other that it
// has the key (docs/operate/admission.md).
//
//   dialler   awaiting response ──> over          acceptor   awaiting challenge ──> awaiting proof ──> over
//
// Every message has 80 bytes, like the fixed part of a Hello. If one end alone has a key, both ends therefore
// understand each other's first bytes and can name the cause. An end without a key is over from the beginning, and
// reads only those first bytes.
// Threads: one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/admission/connection_key.h"
#include "engine/admission/shared_key.h"
#include "railweave/status.h"

namespace railweave::engine {

inline constexpr std::size_t kChallengeBytes = 80;
// The first eight bytes of a Hello, "LKEAWEV1". An end that awaits a challenge knows by them that the peer has no key.
inline constexpr std::uint64_t kHelloMagic = 0x3156455741454b4cull;

class Challenge {
 public:
  using Message = std::array<std::byte, kChallengeBytes>;
  using Received = std::span<const std::byte, kChallengeBytes>;
  using Nonce = std::array<std::byte, 32>;

  // `key`: outlives the challenge; null: no key. `nonce`: never used before, and unpredictable; unused without a key.
  Challenge(Role role, const SharedKey* key, const Nonce& nonce);

  // Returns the message to send first; none: the other end speaks first. A dialler with a key speaks first.
  const std::optional<Message>& opening() const { return opening_; }

  // True: this end's challenge is done, and Hellos follow.
  bool over() const { return state_ == State::over; }
  // True: the next 80 bytes are for on_message(). False: the bytes begin a Hello. Once over() is true, only a refusal,
  // or the challenge to an end without a key, still concerns this end.
  bool concerns(Received next) const;

  struct Turn {
    // Not ok: the connection fails. Code::remote, or Code::exhausted.
    Status status = {};
    // Message to send; after a status that is not ok, the last one. None: nothing to send.
    std::optional<Message> answer = {};
    // The two ends have no key in common, or one has none: another try changes nothing.
    bool no_common_key = false;
  };
  // REQUIRES: concerns(message).
  Turn on_message(Received message);

  // Valid once over() is true. Null without a key.
  const ConnectionKey* connection() const { return connection_ ? &*connection_ : nullptr; }

 private:
  enum class State { awaiting_challenge, awaiting_response, awaiting_proof, over };

  Turn on_foreign_bytes(Received message) const;
  Turn on_refusal(Received message) const;
  Turn on_challenge(Received message);
  Turn on_response(Received message);
  Turn on_proof(Received message);

  const Role role_;
  const SharedKey* const key_;
  const Nonce nonce_;
  State state_;
  std::optional<Message> opening_;
  Message challenge_{}, response_{};  // as sent or received: tags cover them
  std::optional<ConnectionKey> connection_;
};

}  // namespace railweave::engine
