// Keys, and values derived from keys by HMAC-SHA-256 of OpenSSL. The code of OpenSSL is linked in, and hidden from all
// other code of the process.
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
// The authentication code of a message; not secret.
using Tag = std::array<std::byte, kTagBytes>;

enum class Role : std::uint8_t { dialler = 1, acceptor = 2 };

// Overwrites the bytes in a way that no optimizer removes.
void wipe(std::span<std::byte> bytes);

// 32 bytes that only holders of the key may know. Every copy is wiped when destroyed.
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

// Returns HMAC(key, label, a zero byte, the pieces one behind the other). A piece without a fixed size comes last, so
// that no two lists make one text. Errors: Code::exhausted.
Result<Tag> tag_of(std::span<const std::byte> key, std::string_view label, Pieces pieces);
inline Result<Tag> tag_of(const Secret& key, std::string_view label, Pieces pieces) {
  return tag_of(key.bytes(), label, pieces);
}
// The same as tag_of(), where the result is a key.
Result<Secret> derive(const Secret& key, std::string_view label, Pieces pieces);

// True: the tags are equal. The time does not depend on the place where tags differ.
bool same(std::span<const std::byte, kTagBytes> a, std::span<const std::byte, kTagBytes> b);

}  // namespace railweave::engine
