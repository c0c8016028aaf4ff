#include "engine/admission/connection_key.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace railweave::engine {
namespace {

Secret secret(unsigned char first) {
  Tag bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(first + i);
  return Secret(bytes);
}

std::span<const std::byte> text(std::string_view s) { return std::as_bytes(std::span(s)); }

std::string hex(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte b : bytes) out += {"0123456789abcdef"[unsigned(b) >> 4], "0123456789abcdef"[unsigned(b) & 15]};
  return out;
}

TEST(ConnectionKey, a_seal_fits_its_hello_its_role_and_its_connection_alone) {
  const ConnectionKey key(secret(0)), other(secret(1));
  const Seal seal = key.seal(Role::dialler, text("a hello"), nullptr).value();
  EXPECT_TRUE(key.check(Role::dialler, text("a hello"), seal).ok());
  EXPECT_EQ(key.check(Role::dialler, text("a hellp"), seal).code(), Code::remote);
  EXPECT_FALSE(key.check(Role::dialler, text("a hell"), seal).ok());
  EXPECT_FALSE(key.check(Role::acceptor, text("a hello"), seal).ok());
  EXPECT_FALSE(other.check(Role::dialler, text("a hello"), seal).ok());
}

TEST(ConnectionKey, every_bit_of_a_seal_counts) {
  const ConnectionKey key(secret(0));
  const Secret session = key.session_secret().value();
  for (const Secret* shown : {&session, static_cast<const Secret*>(nullptr)}) {
    const Seal good = key.seal(Role::acceptor, text("a hello"), shown).value();
    for (std::size_t bit = 0; bit < kSealBytes * 8; ++bit) {
      Seal bad = good;
      bad[bit / 8] ^= std::byte(1 << bit % 8);
      EXPECT_FALSE(key.check(Role::acceptor, text("a hello"), bad).ok()) << bit;
    }
  }
}

TEST(ConnectionKey, a_sessions_secret_is_proven_on_one_connection_by_one_end) {
  const ConnectionKey first(secret(0)), join(secret(1)), another_join(secret(2));
  const Secret session = first.session_secret().value(), another_session = join.session_secret().value();
  const Seal seal = join.seal(Role::dialler, text("a hello"), &session).value();
  EXPECT_TRUE(join.check_session(Role::dialler, seal, session).ok());
  EXPECT_EQ(join.check_session(Role::dialler, seal, another_session).code(), Code::remote);
  EXPECT_FALSE(join.check_session(Role::acceptor, seal, session).ok());
  EXPECT_FALSE(another_join.check_session(Role::dialler, seal, session).ok());
  EXPECT_FALSE(
      join.check_session(Role::dialler, join.seal(Role::dialler, text("a hello"), nullptr).value(), session).ok());
}

TEST(ConnectionKey, the_bytes_are_the_documented_ones) {
  const ConnectionKey key(secret(0));
  const Secret session = key.session_secret().value();
  EXPECT_EQ(hex(session.bytes()), "3ed3a412bfcf30ea14e90d25bbe82eb79edff44fb709605a6c8e88551af46067");
  EXPECT_EQ(hex(key.seal(Role::dialler, text("a hello"), &session).value()),
            "4668329e5354044f134757e2c2c6eeb361063478728390091d3ff421c318fba3"
            "a5ee572cf8bd066e2ff6f8b6f7379bf5689df0f02ad6ae47af2733503f0c8897");
}

}  // namespace
}  // namespace railweave::engine
