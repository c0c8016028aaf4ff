// Keys, and what is made of them: HMAC-SHA-256 of OpenSSL, whose code is linked in and speaks to nobody else of the
// process.
// Threads: any. Nothing here is ever printed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "railweave/status.h"

namespace railweave::engine {

inline constexpr std::size_t kTagBytes = 32;
// A message's authentication code. No secret.
using Tag = std::array<std::byte, kTagBytes>;

enum class Role : std::uint8_t { dialler = 1, acceptor = 2 };

// Overwrites what an optimizer would leave.
void wipe(std::span<std::byte> bytes);

// 32 bytes that only those may know who have the key. Every copy is wiped when it goes.
class Secret {
 public:
  Secret() = default;
  explicit Secret(const Tag& bytes) : bytes_(bytes) {}
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret() { wipe(bytes_); }

  std::span<const std::byte, kTagBytes> bytes() const { return bytes_; }

 private:
  Tag bytes_{};
};

using Pieces = std::initializer_list<std::span<const std::byte>>;

// HMAC(key, label, a zero byte, the pieces one behind the other). What has no fixed size comes last, so that no two
// lists make one text. Errors: Code::exhausted.
Result<Tag> tag_of(std::span<const std::byte> key, std::string_view label, Pieces pieces);
inline Result<Tag> tag_of(const Secret& key, std::string_view label, Pieces pieces) {
  return tag_of(key.bytes(), label, pieces);
}
// The same, where the outcome is a key.
Result<Secret> derive(const Secret& key, std::string_view label, Pieces pieces);

// Takes as long for tags that differ early as for those that do late.
bool same(std::span<const std::byte, kTagBytes> a, std::span<const std::byte, kTagBytes> b);

}  // namespace railweave::engine
