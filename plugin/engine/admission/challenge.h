// Before a Hello: each end shows the other that it has the key (docs/operate/admission.md). One end of it, without I/O.
//
//   dialler   awaiting response ──> over          acceptor   awaiting challenge ──> awaiting proof ──> over
//
// Every message has 80 bytes, as the fixed part of a Hello has, so that ends of which one alone has a key understand
// each other's first bytes and can say what is wrong. Without a key an end is over from the beginning and hears only
// those.
// Threads: one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "engine/admission/connection_key.h"
#include "engine/admission/shared_key.h"
#include "railweave/status.h"

namespace railweave::engine {

inline constexpr std::size_t kChallengeBytes = 80;

class Challenge {
 public:
  using Message = std::array<std::byte, kChallengeBytes>;
  using Received = std::span<const std::byte, kChallengeBytes>;
  using Nonce = std::array<std::byte, 32>;

  // `key`: null without one; outlives it. `nonce`: never used before and not to be foreseen; of no use without a key.
  Challenge(Role role, const SharedKey* key, const Nonce& nonce);

  // What to say before anything is heard: a dialler with a key speaks first.
  const std::optional<Message>& opening() const { return opening_; }

  // Nothing but Hellos follows.
  bool over() const { return state_ == State::over; }
  // Whether the next 80 bytes are for on_message(), or else a Hello's. When it is over, only a refusal still is.
  bool concerns(Received next) const;

  struct Turn {
    // Not ok: no connection comes of it. Code::remote; Code::exhausted.
    Status status = {};
    // To be said; after a status that is not ok, the last thing.
    std::optional<Message> answer = {};
    // The two ends have no key in common, or one has none: trying again changes nothing.
    bool no_common_key = false;
  };
  // REQUIRES: concerns(message).
  Turn on_message(Received message);

  // Once it is over. Null without a key.
  const ConnectionKey* connection() const { return connection_ ? &*connection_ : nullptr; }

 private:
  enum class State { awaiting_challenge, awaiting_response, awaiting_proof, over };

  Turn on_unauthenticated(Received message) const;
  Turn on_refusal(Received message) const;
  Turn on_challenge(Received message);
  Turn on_response(Received message);
  Turn on_proof(Received message);

  const Role role_;
  const SharedKey* const key_;
  const Nonce nonce_;
  State state_;
  std::optional<Message> opening_;
  Message challenge_{}, response_{};  // as they were said or heard: tags are of them
  std::optional<ConnectionKey> connection_;
};

}  // namespace railweave::engine
