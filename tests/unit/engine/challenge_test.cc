#include "engine/admission/challenge.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace railweave::engine {
namespace {

using Message = Challenge::Message;

SharedKey key(const std::string& text = "sixteen bytes or more") {
  return SharedKey::of(std::as_bytes(std::span(text))).value();
}

Challenge::Nonce nonce(unsigned char seed) {
  Challenge::Nonce n;
  std::memset(n.data(), seed, n.size());
  return n;
}

Challenge dialler(const SharedKey* k, unsigned char seed = 1) { return {Role::dialler, k, nonce(seed)}; }
Challenge acceptor(const SharedKey* k, unsigned char seed = 2) { return {Role::acceptor, k, nonce(seed)}; }

// Alters message `number` (0, 1 or 2) on its way.
using Spoil = std::function<void(int number, Message& message)>;

struct Ends {
  Challenge dialler, acceptor;
  Status status = {};  // of the first end that failed
  bool no_common_key = false;
  std::string told = {};  // the other end's error, from the refusal
};

Ends converse(const SharedKey* ours, const SharedKey* theirs, const Spoil& spoil = {}) {
  Ends ends{dialler(ours), acceptor(theirs)};
  std::optional<Message> next = ends.dialler.opening();
  for (int number = 0; next; ++number) {
    if (spoil) spoil(number, *next);
    Challenge& hears = number % 2 ? ends.dialler : ends.acceptor;
    Challenge& spoke = number % 2 ? ends.acceptor : ends.dialler;
    const Challenge::Turn turn = hears.on_message(*next);
    next = turn.answer;
    if (turn.status.ok()) continue;
    ends.status = turn.status;
    ends.no_common_key = turn.no_common_key;
    if (turn.answer && spoke.concerns(*turn.answer)) ends.told = spoke.on_message(*turn.answer).status.message();
    break;
  }
  return ends;
}

bool admitted(const Ends& ends) { return ends.status.ok() && ends.dialler.over() && ends.acceptor.over(); }

TEST(Challenge, ends_with_one_key_are_admitted_and_share_a_connection_key) {
  const SharedKey k = key();
  const Ends ends = converse(&k, &k);
  ASSERT_TRUE(admitted(ends)) << ends.status.message();
  ASSERT_TRUE(ends.dialler.connection() && ends.acceptor.connection());
  EXPECT_TRUE(same(ends.dialler.connection()->session_secret()->bytes(),
                   ends.acceptor.connection()->session_secret()->bytes()));
}

TEST(Challenge, ends_without_keys_send_nothing) {
  const Ends ends = converse(nullptr, nullptr);
  EXPECT_TRUE(admitted(ends));
  EXPECT_FALSE(ends.dialler.opening() || ends.dialler.connection() || ends.acceptor.connection());
}

TEST(Challenge, another_key_is_named_at_both_ends) {
  const SharedKey a = key(), b = key("sixteen bytes or morf");
  const Ends ends = converse(&a, &b);
  EXPECT_FALSE(ends.dialler.over() || ends.acceptor.over());
  EXPECT_TRUE(ends.no_common_key);
  EXPECT_EQ(ends.status.message(), "the peer has another key than ours (RAILWEAVE_KEY_FILE)");
  EXPECT_EQ(ends.told, ends.status.message());
}

TEST(Challenge, a_key_at_the_dialler_alone_is_named_at_both_ends) {
  const SharedKey k = key();
  const Ends ends = converse(&k, nullptr);
  EXPECT_FALSE(ends.dialler.over());
  EXPECT_TRUE(ends.no_common_key);
  EXPECT_EQ(ends.status.message(), "the peer uses a key (RAILWEAVE_KEY_FILE), we have none");
  EXPECT_EQ(ends.told, "the peer has no key, we use one (RAILWEAVE_KEY_FILE)");
}

TEST(Challenge, a_key_at_the_acceptor_alone_is_named_at_both_ends) {
  const SharedKey k = key();
  Challenge has_key = acceptor(&k), has_none = dialler(nullptr);
  Message hello{};
  std::memcpy(hello.data(), "LKEAWEV1", 8);
  const Challenge::Turn turn = has_key.on_message(hello);
  EXPECT_TRUE(turn.no_common_key);
  EXPECT_EQ(turn.status.message(), "the peer has no key, we use one (RAILWEAVE_KEY_FILE)");
  ASSERT_TRUE(turn.answer && has_none.concerns(*turn.answer));
  const Challenge::Turn told = has_none.on_message(*turn.answer);
  EXPECT_TRUE(told.no_common_key);
  EXPECT_EQ(told.status.message(), "the peer uses a key (RAILWEAVE_KEY_FILE), we have none");
}

TEST(Challenge, every_bit_of_every_message_counts) {
  const SharedKey k = key();
  for (int number = 0; number < 3; ++number)
    for (std::size_t at = 0; at < kChallengeBytes; ++at)
      for (int bit = 0; bit < 8; ++bit) {
        const Ends ends = converse(&k, &k, [&](int n, Message& message) {
          if (n == number) message[at] ^= std::byte(1 << bit);
        });
        EXPECT_FALSE(admitted(ends)) << "message " << number << ", byte " << at << ", bit " << bit;
        EXPECT_EQ(ends.status.code(), Code::remote);
      }
}

TEST(Challenge, a_reflector_is_not_admitted) {
  const SharedKey k = key();
  Challenge d = dialler(&k);
  EXPECT_FALSE(d.on_message(*d.opening()).status.ok());
  // The dialler's own opening, relabelled as a response.
  Message own_response = *d.opening();
  own_response[10] = std::byte{2};
  EXPECT_FALSE(d.on_message(own_response).status.ok());
  Challenge a = acceptor(&k);
  const Message response = *a.on_message(*dialler(&k).opening()).answer;
  EXPECT_FALSE(a.on_message(response).status.ok());
  Message own_proof = response;  // the acceptor's own response, relabelled as a proof
  own_proof[10] = std::byte{3};
  EXPECT_FALSE(a.on_message(own_proof).status.ok());
  EXPECT_FALSE(a.over() || d.over());
}

// An attacker passes the target's response to a victim as a challenge. The tag in the victim's response is no dialler's
// proof.
TEST(Challenge, an_acceptor_is_no_oracle_for_a_dialler) {
  const SharedKey k = key();
  Challenge victim_dials = dialler(&k, 1), victim_accepts = acceptor(&k, 2), target = acceptor(&k, 3);
  const Message to_target = *target.on_message(*victim_dials.opening()).answer;
  Message as_challenge = to_target;
  as_challenge[10] = std::byte{1};
  Message proof = *victim_accepts.on_message(as_challenge).answer;
  proof[10] = std::byte{3};
  EXPECT_FALSE(target.on_message(proof).status.ok());
}

TEST(Challenge, a_recorded_conversation_is_not_admitted_again) {
  const SharedKey k = key();
  std::vector<Message> recorded;
  ASSERT_TRUE(admitted(converse(&k, &k, [&](int, Message& message) { recorded.push_back(message); })));
  ASSERT_EQ(recorded.size(), 3u);
  Challenge a = acceptor(&k, 9);
  EXPECT_TRUE(a.on_message(recorded[0]).status.ok());
  EXPECT_FALSE(a.on_message(recorded[2]).status.ok());
  EXPECT_FALSE(a.over());
  Challenge d = dialler(&k, 9);
  EXPECT_FALSE(d.on_message(recorded[1]).status.ok());
  EXPECT_FALSE(d.over());
}

TEST(Challenge, a_message_out_of_turn_ends_it) {
  const SharedKey k = key();
  std::vector<Message> recorded;
  ASSERT_TRUE(admitted(converse(&k, &k, [&](int, Message& message) { recorded.push_back(message); })));
  Challenge a = acceptor(&k);
  EXPECT_FALSE(a.on_message(recorded[2]).status.ok());
  EXPECT_FALSE(a.on_message(recorded[1]).status.ok());
  EXPECT_TRUE(a.on_message(recorded[0]).status.ok());
  EXPECT_FALSE(a.on_message(recorded[0]).status.ok());
  Challenge d = dialler(&k);
  EXPECT_FALSE(d.on_message(recorded[0]).status.ok());
  EXPECT_FALSE(d.on_message(recorded[2]).status.ok());
}

TEST(Challenge, bytes_of_another_protocol_get_no_answer) {
  const SharedKey k = key();
  for (const SharedKey* own : {&k, static_cast<const SharedKey*>(nullptr)}) {
    Message http{};
    std::memcpy(http.data(), "GET / HTTP/1.1\r\n", 16);
    Challenge a = acceptor(own);
    EXPECT_EQ(a.concerns(http), own != nullptr);
    if (!own) continue;
    const Challenge::Turn turn = a.on_message(http);
    EXPECT_EQ(turn.status.message(), "handshake: the first bytes are not those of a Railweave message");
    EXPECT_FALSE(turn.answer || turn.no_common_key);
  }
}

TEST(Challenge, a_refusal_counts_only_where_it_makes_sense) {
  const SharedKey k = key(), other = key("another key of more than 16 bytes");
  Challenge first = acceptor(nullptr);
  const Message no_key_here = *first.on_message(*dialler(&k).opening()).answer;
  Challenge mid = dialler(&k);
  const Message another_key = *mid.on_message(*acceptor(&other).on_message(*mid.opening()).answer).answer;
  Challenge fresh = acceptor(&k), keyless = acceptor(nullptr), calls = dialler(nullptr);
  EXPECT_FALSE(fresh.on_message(another_key).no_common_key);
  EXPECT_FALSE(fresh.on_message(no_key_here).no_common_key);
  EXPECT_FALSE(keyless.on_message(no_key_here).no_common_key);
  EXPECT_FALSE(calls.on_message(no_key_here).no_common_key);
}

TEST(Challenge, another_release_is_named) {
  const SharedKey k = key();
  const Ends ends = converse(&k, &k, [](int, Message& message) { message[8] = std::byte{2}; });
  EXPECT_EQ(ends.status.message(),
            "handshake: a challenge of version 2, expected 1: the peer runs another release of Railweave");
  EXPECT_FALSE(ends.no_common_key);
}

// docs/operate/admission.md defines the messages and tags. These are the bytes that another implementation must make.
TEST(Challenge, the_bytes_are_the_documented_ones) {
  const SharedKey k = key("correct horse battery staple");
  std::vector<Message> recorded;
  ASSERT_TRUE(admitted(converse(&k, &k, [&](int, Message& message) { recorded.push_back(message); })));
  const auto hex = [](std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte b : bytes)
      text += {"0123456789abcdef"[unsigned(b) >> 4], "0123456789abcdef"[unsigned(b) & 15]};
    return text;
  };
  EXPECT_EQ(hex(std::span(recorded[0]).first(16)), "4c4b45414b4559310100010000000000");
  EXPECT_EQ(hex(std::span(recorded[1]).first(16)), "4c4b45414b4559310100020000000000");
  EXPECT_EQ(hex(std::span(recorded[1]).last(32)), "c8cf6502bd33915032c12aeb083d3a7dce18c6c01c55713929b4bdb44fdb4ea2");
  EXPECT_EQ(hex(std::span(recorded[2]).last(32)), "781274263c9a1dee091b39f6114e77d8a4a03e8bbd14de263a2a6d9deb0e5ed4");
}

}  // namespace
}  // namespace railweave::engine
