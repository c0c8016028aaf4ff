#include "engine/connect/handle.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/crc32c.h"

namespace railweave::engine {
namespace {

HandleContent content(std::size_t addresses) {
  HandleContent c;
  for (std::size_t i = 0; i < c.instance.size(); ++i) c.instance[i] = std::uint8_t(i + 1);
  c.listener = 0x01020304;
  for (std::size_t i = 0; i < addresses; ++i) {
    PeerAddress a;
    a.address.family = i % 2 ? Address::Family::v6 : Address::Family::v4;
    a.address.prefix_bits = i % 2 ? 128 : 32;
    for (std::size_t k = 0; k < (i % 2 ? 16u : 4u); ++k) a.address.bytes[k] = std::uint8_t(16 * i + k);
    a.port = std::uint16_t(5000 + i);
    c.addresses.push_back(a);
  }
  return c;
}

std::string why_refused(const Handle& handle) {
  const Result<HandleContent> decoded = decode_handle(handle);
  if (decoded.ok()) return "accepted";
  EXPECT_EQ(decoded.status().code(), Code::invalid_argument);
  return decoded.status().message();
}

// Returns a handle whose field at `at` is `value`, with the right CRC.
template <class T>
Handle with(std::size_t at, T value) {
  Handle handle = encode_handle(content(2));
  std::memcpy(handle.data() + at, &value, sizeof value);
  std::memset(handle.data() + 8, 0, 4);
  const std::uint32_t crc = crc32c(std::span(handle).first(kHandleFixedBytes));
  std::memcpy(handle.data() + 8, &crc, sizeof crc);
  return handle;
}

TEST(Handle, decode_handle__gives_back_the_content) {
  for (std::size_t n = 1; n <= kHandleAddresses; ++n) {
    const HandleContent c = content(n);
    Result<HandleContent> d = decode_handle(encode_handle(c));
    ASSERT_TRUE(d.ok()) << d.status().message();
    EXPECT_EQ(d->instance, c.instance);
    EXPECT_EQ(d->listener, c.listener);
    ASSERT_EQ(d->addresses.size(), n);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(d->addresses[i].address, c.addresses[i].address);
      EXPECT_EQ(d->addresses[i].port, c.addresses[i].port);
    }
  }
}

TEST(Handle, encode_handle__takes_the_first_four_addresses) {
  Result<HandleContent> d = decode_handle(encode_handle(content(7)));
  ASSERT_TRUE(d.ok());
  EXPECT_EQ(d->addresses.size(), kHandleAddresses);
}

TEST(Handle, decode_handle__the_connectors_bytes_do_not_matter) {
  Handle handle = encode_handle(content(1));
  for (std::size_t i = 0; i < kHandleFixedBytes; ++i) EXPECT_TRUE(i < 64 || handle[i] == std::byte{0});
  std::fill(handle.begin() + kHandleFixedBytes, handle.end(), std::byte{0x77});
  EXPECT_EQ(why_refused(handle), "accepted");
}

TEST(Handle, decode_handle__not_ours) {
  EXPECT_NE(why_refused(Handle{}).find("not Railweave's"), std::string::npos);
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    Handle noise;
    for (std::byte& b : noise) b = std::byte(random());
    EXPECT_NE(why_refused(noise), "accepted");
  }
}

TEST(Handle, decode_handle__another_version) {
  EXPECT_NE(why_refused(with(4, std::uint16_t{1})).find("version 1, expected 3"), std::string::npos);
}

TEST(Handle, decode_handle__every_flipped_bit_is_seen) {
  const Handle good = encode_handle(content(3));
  for (std::size_t bit = 0; bit < 8 * kHandleFixedBytes; ++bit) {
    Handle damaged = good;
    damaged[bit / 8] ^= std::byte(1 << bit % 8);
    EXPECT_NE(why_refused(damaged), "accepted") << "bit " << bit;
  }
}

TEST(Handle, decode_handle__truncated) {
  for (std::size_t n = 0; n < 80; ++n) {
    Handle cut = encode_handle(content(4));
    std::fill(cut.begin() + std::ptrdiff_t(n), cut.end(), std::byte{0});
    EXPECT_NE(why_refused(cut), "accepted") << n;
  }
}

TEST(Handle, decode_handle__impossible_addresses) {
  EXPECT_NE(why_refused(with(6, std::uint8_t{0})).find("0 addresses"), std::string::npos);
  EXPECT_NE(why_refused(with(6, std::uint8_t{5})).find("5 addresses"), std::string::npos);
  EXPECT_NE(why_refused(with(32, std::uint8_t{5})).find("family 5"), std::string::npos);
  EXPECT_NE(why_refused(with(34, std::uint16_t{0})).find("port 0"), std::string::npos);
  EXPECT_EQ(why_refused(with(36, std::uint8_t{9})), "accepted");
}

}  // namespace
}  // namespace railweave::engine
