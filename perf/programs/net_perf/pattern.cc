#include "net_perf/pattern.h"

#include <fmt/core.h>

#include <cstring>

#include "net_perf/message_sizes.h"

namespace railweave::perf::net_perf {
namespace {

// Multiplication by an odd number is a bijection of 64-bit words, so a word encodes its index.
constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15u, kInverse = 0xF1DE83E19937733Du;
static_assert(kFactor * kInverse == 1);

constexpr std::size_t kStartsWords = (1 << 20) / 8;  // messages begin within the first MiB of the pool

}  // namespace

Pattern::Pattern(std::size_t largest_message_bytes, std::uint64_t seed)
    : seed_(seed), words_(kStartsWords + largest_message_bytes / 8 + 2) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = (i + 1) * kFactor;
}

const std::byte* Pattern::source(std::uint64_t flow, std::uint64_t sequence) const {
  const std::uint64_t start = mix(mix(seed_ + 1, flow), sequence) % kStartsWords;
  return reinterpret_cast<const std::byte*>(words_.data() + start);
}

void Pattern::fill(std::span<std::byte> message, std::uint64_t flow, std::uint64_t sequence) const {
  if (!message.empty()) std::memcpy(message.data(), source(flow, sequence), message.size());
}

std::optional<std::string> Pattern::error(std::span<const std::byte> message, std::uint64_t flow,
                                          std::uint64_t sequence) const {
  const std::byte* expected = source(flow, sequence);
  if (message.empty() || std::memcmp(message.data(), expected, message.size()) == 0) return std::nullopt;
  std::size_t at = 0;
  while (message[at] == expected[at]) ++at;
  return describe(message, at, flow, sequence);
}

std::string Pattern::describe(std::span<const std::byte> message, std::size_t wrong_at, std::uint64_t flow,
                              std::uint64_t sequence) const {
  const std::size_t word_at = wrong_at / 8 * 8;
  std::uint64_t found = 0;
  std::memcpy(&found, message.data() + word_at, std::min<std::size_t>(8, message.size() - word_at));
  const auto expected_index =
      std::uint64_t(source(flow, sequence) - reinterpret_cast<const std::byte*>(words_.data())) / 8 + word_at / 8;
  const std::uint64_t found_index = found * kInverse - 1;
  const std::string origin =
      found_index < words_.size()
          ? fmt::format("it belongs {} bytes away", 8 * (std::int64_t(found_index) - std::int64_t(expected_index)))
          : "it is of no message";
  return fmt::format("flow {:x} message {} of {} bytes: wrong from byte {} on (found {:016x}; {})", flow, sequence,
                     message.size(), wrong_at, found, origin);
}

}  // namespace railweave::perf::net_perf
