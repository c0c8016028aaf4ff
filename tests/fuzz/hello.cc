// Fuzzes decode_hello(): a stranger's first bytes on a new connection, read as handshake.cc reads them.
#include "engine/connect/hello.h"

#include <cstring>
#include <vector>

#include "base/crc32c.h"
#include "tests/fuzz/check.h"

using railweave::fuzz::check;
using namespace railweave::engine;

namespace {

constexpr std::size_t kBodyBytesAt = 12, kCrcAt = 72;

template <class T>
void put(std::vector<std::byte>& message, std::size_t at, T value) {
  std::memcpy(message.data() + at, &value, sizeof value);
}

}  // namespace

// The first byte's two lowest bits: replace the length, and the CRC, by the right one.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 1 + kHelloFixedBytes) return 0;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> message(bytes + 1, bytes + size);
  if (data[0] & 1) put(message, kBodyBytesAt, std::uint32_t(message.size() - kHelloFixedBytes));
  if (data[0] & 2) {
    put(message, kCrcAt, std::uint32_t{0});
    put(message, kCrcAt, railweave::crc32c(message));
  }
  auto expected = hello_bytes(std::span(message).first<kHelloFixedBytes>());
  if (!expected.ok()) return 0;
  check(*expected >= kHelloFixedBytes && *expected <= kHelloFixedBytes + kHelloBodyBytesMax + kHelloPaddingBytesMax,
        "the length is bounded");
  if (*expected > message.size()) return 0;
  message.resize(*expected);
  message.shrink_to_fit();
  auto hello = decode_hello(message);
  if (!hello.ok()) {
    check(hello.status().code() == railweave::Code::remote, "the peer is to blame");
    return 0;
  }
  const std::vector<std::byte> again = encode_hello(*hello);
  check(again.size() == message.size(), "what was taken is written at the same length");
  auto twice = decode_hello(again);
  check(twice.ok(), "what was taken can be sent again");
  check(encode_hello(*twice) == again, "and says the same");
  return 0;
}
