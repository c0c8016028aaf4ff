// Fuzzes Challenge with and without a key: only an honest partner's messages, unaltered and in order, lead to an
// admission.
#include "engine/admission/challenge.h"

#include <algorithm>

#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"

using namespace railweave::engine;
using railweave::fuzz::check;
using railweave::fuzz::Input;

namespace {

using Message = Challenge::Message;

SharedKey key() {
  constexpr char kText[] = "sixteen bytes or more";
  return SharedKey::of(std::as_bytes(std::span(kText))).value();
}

Message raw(Input& in) {
  Message message;
  for (std::byte& b : message) b = std::byte(in.u8());
  return message;
}

Challenge::Nonce nonce(unsigned char value) {
  Challenge::Nonce n;
  n.fill(std::byte(value));
  return n;
}

}  // namespace

// The first byte of the input: our role, and whether we have a key. Messages follow, whose first byte names their
// source: 0 the input itself, 1 an honest partner, 2 the partner with a byte altered, 3 our own last message.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const SharedKey shared = key();
  Input in(data, size);
  const std::uint8_t first = in.u8();
  const Role role = first & 1 ? Role::dialler : Role::acceptor;
  const bool keyed = first & 2;
  Challenge us(role, keyed ? &shared : nullptr, nonce(1));
  Challenge partner(role == Role::dialler ? Role::acceptor : Role::dialler, &shared, nonce(2));
  std::optional<Message> said = us.opening(), theirs = partner.opening();
  bool honest = true;  // all messages to us were the partner's, unaltered
  for (int messages = 0; messages < 8 && !in.empty(); ++messages) {
    if (said && partner.concerns(*said) && !partner.over()) {
      const Challenge::Turn turn = partner.on_message(*said);
      if (turn.answer) theirs = turn.answer;
    }
    Message next = raw(in);
    bool as_is = false;
    switch (std::uint8_t(next[0]) & 3) {
      case 0: break;
      case 1: as_is = theirs.has_value(), next = theirs.value_or(next); break;
      case 2: {
        const std::size_t at = std::size_t(next[1]) % kChallengeBytes;
        const std::byte change = next[2];
        next = theirs.value_or(next);
        next[at] ^= change;
        as_is = theirs && change == std::byte{0};
        break;
      }
      case 3: next = said.value_or(next); break;
    }
    if (!us.concerns(next)) return 0;
    const bool before = us.over();
    const Challenge::Turn turn = us.on_message(next);
    honest = honest && as_is;
    check(turn.status.ok() || turn.status.code() == railweave::Code::remote, "the peer is to blame");
    check(!turn.no_common_key || !turn.status.ok(), "who is told that no key fits is not let in");
    check(before || !us.over() || (honest && turn.status.ok()), "an admission takes an honest partner");
    check((us.connection() != nullptr) == (keyed && us.over()), "there is a connection's key with an admission");
    if (!turn.status.ok()) return 0;
    said = turn.answer;
  }
  return 0;
}
