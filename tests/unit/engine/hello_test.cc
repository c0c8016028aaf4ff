#include "engine/connect/hello.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/crc32c.h"

namespace railweave::engine {
namespace {

Hello hello(std::size_t rails = 2) {
  Hello h;
  h.kind = Hello::Kind::welcome;
  h.refusal = Hello::Refusal::crossing;
  for (std::size_t i = 0; i < 16; ++i) h.from[i] = std::uint8_t(i), h.to[i] = std::uint8_t(100 + i);
  h.session = 0x1122334455667788ull;
  h.lane = 513;
  h.local_rail = 3;
  h.remote_rail = 5;
  h.traffic_class = 0xb8;
  h.peer = "node7 pid 4242";
  h.reason = "because";
  for (std::size_t i = 0; i < rails; ++i) {
    PeerRail rail;
    rail.name = "eth" + std::to_string(i);
    rail.speed_mbps = std::uint32_t(100'000 + i);
    rail.link_down = i % 2 == 1;
    for (std::size_t k = 0; k <= i % 3; ++k) {
      PeerAddress a;
      a.address.family = k ? Address::Family::v6 : Address::Family::v4;
      a.address.prefix_bits = k ? 64 : 24;
      a.address.bytes[0] = std::uint8_t(i + 1);
      a.port = std::uint16_t(7000 + i);
      rail.addresses.push_back(a);
    }
    h.rails.push_back(rail);
  }
  return h;
}

std::span<const std::byte, kHelloFixedBytes> fixed(const std::vector<std::byte>& message) {
  return std::span(message).first<kHelloFixedBytes>();
}

// Reads the message like a handshake, the fixed part first. Returns the error, or "accepted".
std::string why_refused(const std::vector<std::byte>& message) {
  const Result<std::size_t> bytes = hello_bytes(fixed(message));
  if (!bytes.ok()) return bytes.status().message();
  if (bytes.value() != message.size()) return "another length";
  const Result<Hello> decoded = decode_hello(message);
  if (decoded.ok()) return "accepted";
  EXPECT_EQ(decoded.status().code(), Code::remote);
  return decoded.status().message();
}

std::vector<std::byte> repaired(std::vector<std::byte> message) {
  std::memset(message.data() + 72, 0, 4);
  const std::uint32_t crc = crc32c(message);
  std::memcpy(message.data() + 72, &crc, sizeof crc);
  return message;
}

template <class T>
std::vector<std::byte> with(std::size_t at, T value) {
  std::vector<std::byte> message = encode_hello(hello());
  std::memcpy(message.data() + at, &value, sizeof value);
  return repaired(message);
}

TEST(Hello, decode_hello__gives_back_every_field) {
  const Hello h = hello(64);
  const auto message = encode_hello(h);
  ASSERT_EQ(hello_bytes(fixed(message)).value(), message.size());
  Result<Hello> d = decode_hello(message);
  ASSERT_TRUE(d.ok()) << d.status().message();
  EXPECT_EQ(d->kind, h.kind);
  EXPECT_EQ(d->refusal, h.refusal);
  EXPECT_EQ(d->from, h.from);
  EXPECT_EQ(d->to, h.to);
  EXPECT_EQ(d->session, h.session);
  EXPECT_EQ(d->lane, h.lane);
  EXPECT_EQ(d->local_rail, h.local_rail);
  EXPECT_EQ(d->remote_rail, h.remote_rail);
  EXPECT_EQ(d->traffic_class, h.traffic_class);
  EXPECT_EQ(d->peer, h.peer);
  EXPECT_EQ(d->reason, h.reason);
  ASSERT_EQ(d->rails.size(), h.rails.size());
  for (std::size_t i = 0; i < h.rails.size(); ++i) {
    EXPECT_EQ(d->rails[i].name, h.rails[i].name);
    EXPECT_EQ(d->rails[i].speed_mbps, h.rails[i].speed_mbps);
    ASSERT_EQ(d->rails[i].addresses.size(), h.rails[i].addresses.size());
    for (std::size_t k = 0; k < h.rails[i].addresses.size(); ++k) {
      EXPECT_EQ(d->rails[i].addresses[k].address, h.rails[i].addresses[k].address);
      EXPECT_EQ(d->rails[i].addresses[k].port, h.rails[i].addresses[k].port);
    }
  }
}

TEST(Hello, encode_hello__the_most_rails_with_the_longest_names_fit) {
  Hello h = hello(0);
  h.peer = h.reason = std::string(1000, 'x');
  PeerRail rail;
  rail.name = std::string(15, 'y');
  rail.addresses.resize(20);
  for (PeerAddress& a : rail.addresses) a.port = 1;
  h.rails.assign(100, rail);
  const auto message = encode_hello(h);
  const Result<std::size_t> bytes = hello_bytes(fixed(message));
  if (bytes.ok()) {
    EXPECT_TRUE(decode_hello(message).ok());
  } else {
    ADD_FAILURE() << "a message that its own reader refuses: " << bytes.status().message();
  }
}

TEST(Hello, decode_rail__gives_back_every_field_and_takes_all_bytes) {
  for (const PeerRail& rail : hello(3).rails) {
    std::vector<std::byte> bytes = encode_rail(rail);
    Result<PeerRail> back = decode_rail(bytes);
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back->name, rail.name);
    EXPECT_EQ(back->speed_mbps, rail.speed_mbps);
    EXPECT_EQ(back->link_down, rail.link_down);
    ASSERT_EQ(back->addresses.size(), rail.addresses.size());
    for (std::size_t i = 0; i < rail.addresses.size(); ++i) {
      EXPECT_EQ(back->addresses[i].address, rail.addresses[i].address);
      EXPECT_EQ(back->addresses[i].port, rail.addresses[i].port);
    }
    for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(decode_rail(std::span(bytes).first(n)).ok()) << n;
    bytes.push_back({});
    EXPECT_FALSE(decode_rail(bytes).ok());
  }
}

TEST(Hello, hello_bytes__other_protocols_are_refused_by_the_first_bytes) {
  std::vector<std::byte> http(kHelloFixedBytes);
  std::memcpy(http.data(), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 36);
  EXPECT_NE(why_refused(http).find("not those of a Railweave message"), std::string::npos);
  std::mt19937_64 random(5);
  for (int i = 0; i < 1000; ++i) {
    std::vector<std::byte> noise(kHelloFixedBytes);
    for (std::byte& b : noise) b = std::byte(random());
    EXPECT_FALSE(hello_bytes(fixed(noise)).ok());
  }
}

TEST(Hello, hello_bytes__versions_features_and_lengths) {
  EXPECT_NE(why_refused(with(8, std::uint16_t{1})).find("version 1, expected 3: the peer runs another release"),
            std::string::npos);
  EXPECT_NE(why_refused(with(16, std::uint64_t{16})).find("unknown feature bits 16"), std::string::npos);
  EXPECT_NE(why_refused(with(12, std::uint32_t{kHelloBodyBytesMax + 1})).find("a body of 16385 bytes"),
            std::string::npos);
}

TEST(Hello, hello_bytes__padding_is_for_welcome_and_confirm_and_bounded) {
  Hello h = hello();
  h.padding_bytes = 100;
  for (const auto kind : {Hello::Kind::first, Hello::Kind::join, Hello::Kind::refused}) {
    h.kind = kind;
    EXPECT_NE(why_refused(encode_hello(h)).find("padding of 100 bytes, expected at most 0"), std::string::npos);
  }
  for (const auto kind : {Hello::Kind::welcome, Hello::Kind::confirm}) {
    h.kind = kind;
    h.padding_bytes = kHelloPaddingBytesMax;
    EXPECT_EQ(why_refused(encode_hello(h)), "accepted");
    h.padding_bytes = kHelloPaddingBytesMax + 1;
    EXPECT_NE(why_refused(encode_hello(h)).find("padding of 32769 bytes"), std::string::npos);
  }
  EXPECT_NE(why_refused(with(76, std::uint32_t{30'000})).find("padding of 30000 bytes"), std::string::npos)
      << "more than the body";
}

TEST(Hello, confirm_of__names_the_same_lane_the_other_way) {
  const Hello welcome = hello(), confirm = confirm_of(welcome);
  EXPECT_EQ(confirm.kind, Hello::Kind::confirm);
  EXPECT_EQ(confirm.from, welcome.to);
  EXPECT_EQ(confirm.to, welcome.from);
  EXPECT_EQ(confirm.session, welcome.session);
  EXPECT_EQ(confirm.lane, welcome.lane);
  EXPECT_TRUE(confirm.rails.empty());
}

TEST(Hello, decode_hello__kinds) {
  EXPECT_NE(why_refused(with(10, std::uint16_t{0})).find("kind 0"), std::string::npos);
  EXPECT_NE(why_refused(with(10, std::uint16_t{6})).find("kind 6"), std::string::npos);
}

TEST(Hello, decode_hello__every_flipped_bit_is_seen) {
  const auto good = encode_hello(hello());
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    auto damaged = good;
    damaged[bit / 8] ^= std::byte(1 << bit % 8);
    EXPECT_NE(why_refused(damaged), "accepted") << "bit " << bit;
  }
}

TEST(Hello, decode_hello__bodies_that_do_not_add_up) {
  const auto good = encode_hello(hello());
  for (std::size_t n = kHelloFixedBytes; n < good.size() + 20; ++n) {
    std::vector<std::byte> message = good;
    message.resize(n);
    const auto body = std::uint32_t(n - kHelloFixedBytes);
    std::memcpy(message.data() + 12, &body, sizeof body);
    EXPECT_EQ(why_refused(repaired(message)) == "accepted", n == good.size()) << n;
  }
}

TEST(Hello, decode_hello__any_body_is_read_without_harm) {
  std::mt19937_64 random(9);
  const auto good = encode_hello(hello(20));
  for (int i = 0; i < 20'000; ++i) {
    auto message = good;
    for (std::uint64_t n = 1 + random() % 8; n > 0; --n)
      message[kHelloFixedBytes + random() % (message.size() - kHelloFixedBytes)] = std::byte(random());
    Result<Hello> d = decode_hello(repaired(message));
    EXPECT_TRUE(!d.ok() || d.value().rails.size() <= 64);
  }
}

TEST(Hello, offers__come_through_and_set_their_feature_bit) {
  Hello h = hello();
  h.offers = {{"verbs", {std::byte{1}, std::byte{2}}}, {"tcp", {}}};
  const auto message = encode_hello(h);
  ASSERT_EQ(hello_bytes(fixed(message)).value(), message.size());
  Result<Hello> d = decode_hello(message);
  ASSERT_TRUE(d.ok()) << d.status().message();
  EXPECT_EQ(d->offers, h.offers);
  EXPECT_EQ(d->features, h.features | kFeatureOffers);
  EXPECT_EQ(d->rails, h.rails);
}

TEST(Hello, offers__none_leaves_the_bytes_as_an_older_release_reads_them) {
  Result<Hello> d = decode_hello(encode_hello(hello()));
  EXPECT_TRUE(d->offers.empty());
  EXPECT_EQ(d->features & kFeatureOffers, 0u);
}

TEST(Hello, offers__the_largest_is_taken_and_a_larger_one_refused) {
  Hello h = hello();
  h.offers = {{std::string(kWireNameMax, 'w'), std::vector<std::byte>(kWireOfferBytesMax)}};
  EXPECT_EQ(why_refused(encode_hello(h)), "accepted");
  h.offers[0].bytes.resize(kWireOfferBytesMax + 1);
  EXPECT_NE(why_refused(encode_hello(h)).find("an offer of 257 bytes"), std::string::npos);
  h.offers = {{std::string(kWireNameMax + 1, 'w'), {}}};
  EXPECT_NE(why_refused(encode_hello(h)).find("a wire's name of 16 characters"), std::string::npos);
  h.offers = {{"", {}}};
  EXPECT_NE(why_refused(encode_hello(h)).find("a wire's name of 0 characters"), std::string::npos);
}

TEST(Hello, offers__as_many_as_there_may_be_and_one_more) {
  Hello h = hello();
  h.offers.assign(kWireOffersMax, {"verbs", {}});
  EXPECT_EQ(why_refused(encode_hello(h)), "accepted");
  h.offers.assign(kWireOffersMax + 1, {"verbs", {}});
  EXPECT_NE(why_refused(encode_hello(h)).find("5 offers of wires, expected 1 to 4"), std::string::npos);
}

TEST(Hello, offers__their_bit_without_their_bytes_is_refused) {
  EXPECT_NE(why_refused(with<std::uint64_t>(16, kFeatureOffers)), "accepted");
}

TEST(Hello, confirm_of__carries_no_offer) {
  Hello welcome = hello();
  welcome.offers = {{"verbs", {}}};
  welcome.features |= kFeatureOffers;
  const Hello confirm = confirm_of(welcome);
  EXPECT_TRUE(confirm.offers.empty());
  EXPECT_EQ(confirm.features & kFeatureOffers, 0u);
}

}  // namespace
}  // namespace railweave::engine
