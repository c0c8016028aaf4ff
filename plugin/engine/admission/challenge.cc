#include "engine/admission/challenge.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"

namespace railweave::engine {
namespace {

constexpr std::uint64_t kMagic = 0x3159454b41454b4cull;  // "LKEAKEY1"
constexpr std::uint16_t kVersion = 1;

enum class Kind : std::uint16_t { challenge = 1, response = 2, proof = 3, refused = 4 };
enum class Refusal : std::uint32_t { none = 0, no_key_here = 1, key_wanted = 2, another_key = 3 };

struct Layout {
  std::uint64_t magic;
  std::uint16_t version, kind;
  std::uint32_t refusal;
  std::byte nonce[32];
  std::byte tag[kTagBytes];
};
static_assert(sizeof(Layout) == kChallengeBytes);
constexpr std::size_t kTagAt = offsetof(Layout, tag);

Layout parsed(Challenge::Received message) {
  Layout l;
  std::memcpy(&l, message.data(), sizeof l);
  return l;
}

Challenge::Message message_of(Kind kind, const Challenge::Nonce& nonce = {}, Refusal refusal = Refusal::none) {
  Layout l{};
  l.magic = kMagic;
  l.version = kVersion;
  l.kind = std::uint16_t(kind);
  l.refusal = std::uint32_t(refusal);
  std::ranges::copy(nonce, l.nonce);
  Challenge::Message message;
  std::memcpy(message.data(), &l, sizeof l);
  return message;
}

auto without_tag(Challenge::Received message) { return message.first<kTagAt>(); }
auto tag_in(Challenge::Received message) { return message.last<kTagBytes>(); }

// A tag covers all earlier messages of this connection, and its own message without the tag.
Result<Tag> acceptor_tag(const SharedKey& key, Challenge::Received challenge, Challenge::Received response) {
  return tag_of(key.secret(), "railweave acceptor 1", {challenge, without_tag(response)});
}
Result<Tag> dialler_tag(const SharedKey& key, Challenge::Received challenge, Challenge::Received response,
                        Challenge::Received proof) {
  return tag_of(key.secret(), "railweave dialler 1", {challenge, response, without_tag(proof)});
}

Result<ConnectionKey> connection_key(const SharedKey& key, Challenge::Received challenge,
                                     Challenge::Received response) {
  RW_ASSIGN_OR_RETURN(const Secret secret, derive(key.secret(), "railweave connection 1", {challenge, response}));
  return ConnectionKey(secret);
}

Challenge::Turn bad(const std::string& what) { return {Status(Code::remote, Scope::lane, "handshake: " + what)}; }
Challenge::Turn failed(const Status& status) { return {status}; }

Challenge::Turn mismatch(const char* what, Refusal refusal = Refusal::none) {
  Challenge::Turn turn{Status(Code::remote, Scope::session, what), {}, true};
  if (refusal != Refusal::none) turn.answer = message_of(Kind::refused, {}, refusal);
  return turn;
}

constexpr char kWeHaveNone[] = "the peer uses a key (RAILWEAVE_KEY_FILE), we have none";
constexpr char kPeerHasNone[] = "the peer has no key, we use one (RAILWEAVE_KEY_FILE)";
constexpr char kAnother[] = "the peer has another key than ours (RAILWEAVE_KEY_FILE)";

}  // namespace

Challenge::Challenge(Role role, const SharedKey* key, const Nonce& nonce)
    : role_(role),
      key_(key),
      nonce_(nonce),
      state_(!key                    ? State::over
             : role == Role::dialler ? State::awaiting_response
                                     : State::awaiting_challenge) {
  if (state_ == State::awaiting_response) opening_ = challenge_ = message_of(Kind::challenge, nonce_);
}

bool Challenge::concerns(Received next) const { return !over() || parsed(next).magic == kMagic; }

Challenge::Turn Challenge::on_message(Received message) {
  const Layout l = parsed(message);
  if (l.magic != kMagic) return on_foreign_bytes(message);
  if (l.version != kVersion)
    return bad("a challenge of version " + std::to_string(l.version) + ", expected " + std::to_string(kVersion) +
               ": the peer runs another release of Railweave");
  switch (Kind(l.kind)) {
    case Kind::challenge: return on_challenge(message);
    case Kind::response: return on_response(message);
    case Kind::proof: return on_proof(message);
    case Kind::refused: return on_refusal(message);
  }
  return bad("a challenge message of kind " + std::to_string(l.kind) + ", expected 1 to 4");
}

Challenge::Turn Challenge::on_foreign_bytes(Received message) const {
  const bool is_hello = parsed(message).magic == kHelloMagic;
  if (state_ == State::awaiting_challenge && is_hello) return mismatch(kPeerHasNone, Refusal::key_wanted);
  return bad("the first bytes are not those of a Railweave message");
}

// A refusal is not authenticated. An attacker that can forge a refusal could as well have reset the connection.
Challenge::Turn Challenge::on_refusal(Received message) const {
  const auto refusal = Refusal(parsed(message).refusal);
  if (refusal == Refusal::no_key_here && state_ == State::awaiting_response) return mismatch(kPeerHasNone);
  if (refusal == Refusal::key_wanted && role_ == Role::dialler && !key_) return mismatch(kWeHaveNone);
  if (refusal == Refusal::another_key &&
      (state_ == State::awaiting_proof || (role_ == Role::dialler && key_ && over())))
    return mismatch(kAnother);
  return bad("a refusal of code " + std::to_string(unsigned(refusal)) + ", which does not fit what was sent");
}

Challenge::Turn Challenge::on_challenge(Received message) {
  if (role_ == Role::acceptor && !key_) return mismatch(kWeHaveNone, Refusal::no_key_here);
  if (state_ != State::awaiting_challenge) return bad("a challenge, expected another message");
  std::ranges::copy(message, challenge_.begin());
  response_ = message_of(Kind::response, nonce_);
  const Result<Tag> tag = acceptor_tag(*key_, challenge_, response_);
  if (!tag.ok()) return failed(tag.status());
  std::ranges::copy(tag.value(), response_.begin() + kTagAt);
  state_ = State::awaiting_proof;
  return {{}, response_};
}

Challenge::Turn Challenge::on_response(Received message) {
  if (state_ != State::awaiting_response) return bad("a response to no challenge");
  std::ranges::copy(message, response_.begin());
  const Result<Tag> expected = acceptor_tag(*key_, challenge_, response_);
  if (!expected.ok()) return failed(expected.status());
  if (!same(expected.value(), tag_in(message))) return mismatch(kAnother, Refusal::another_key);
  Message proof = message_of(Kind::proof);
  const Result<Tag> tag = dialler_tag(*key_, challenge_, response_, proof);
  if (!tag.ok()) return failed(tag.status());
  std::ranges::copy(tag.value(), proof.begin() + kTagAt);
  Result<ConnectionKey> connection = connection_key(*key_, challenge_, response_);
  if (!connection.ok()) return failed(connection.status());
  connection_ = *connection;
  state_ = State::over;
  return {{}, proof};
}

Challenge::Turn Challenge::on_proof(Received message) {
  if (state_ != State::awaiting_proof) return bad("a proof, expected another message");
  const Result<Tag> expected = dialler_tag(*key_, challenge_, response_, message);
  if (!expected.ok()) return failed(expected.status());
  if (!same(expected.value(), tag_in(message))) return mismatch(kAnother, Refusal::another_key);
  Result<ConnectionKey> connection = connection_key(*key_, challenge_, response_);
  if (!connection.ok()) return failed(connection.status());
  connection_ = *connection;
  state_ = State::over;
  return {};
}

}  // namespace railweave::engine
