#include "wire/message/block.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

namespace railweave::wire::message {
namespace {

static_assert(std::endian::native == std::endian::little);

enum Flag : std::uint32_t { kProbe = 1, kLast = 2, kAsks = 4 };

using Words = std::array<std::uint32_t, 4>;  // number, returned, bytes, flags
static_assert(sizeof(Words) == kPrefixBytes);

Status malformed(std::string what) { return Status(Code::remote, Scope::lane, "malformed block: " + std::move(what)); }

}  // namespace

void encode(const Prefix& prefix, std::span<std::byte, kPrefixBytes> to) {
  const std::uint32_t flags = (prefix.probe ? kProbe : 0u) | (prefix.last ? kLast : 0u) | (prefix.asks ? kAsks : 0u);
  const Words words{prefix.number, prefix.returned, prefix.bytes, flags};
  std::memcpy(to.data(), words.data(), sizeof words);
}

Result<Prefix> decode(std::span<const std::byte> block) {
  if (block.size() < kPrefixBytes)
    return malformed(fmt::format("{} bytes, expected at least {}", block.size(), kPrefixBytes));
  Words words;
  std::memcpy(words.data(), block.data(), sizeof words);
  const auto [number, returned, bytes, flags] = words;
  if ((flags & ~std::uint32_t(kProbe | kLast | kAsks)) != 0)
    return malformed(fmt::format("flags {:#x}, expected bits 0 to 2 only", flags));
  if (bytes > block.size() - kPrefixBytes)
    return malformed(fmt::format("{} bytes of the stream in a block of {}", bytes, block.size()));
  return Prefix{number, returned, bytes, (flags & kProbe) != 0, (flags & kLast) != 0, (flags & kAsks) != 0};
}

}  // namespace railweave::wire::message
