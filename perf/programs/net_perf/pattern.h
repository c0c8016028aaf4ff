// Contents that reveal misplacement. A pool of 64-bit words, each of which tells its own place in the pool; every
// message is a stretch of the pool, begun at a place that follows from flow and sequence. So filling is a copy,
// checking a comparison, and a wrong word says where it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace railweave::perf::net_perf {

class Pattern {
 public:
  Pattern(std::size_t largest_message_bytes, std::uint64_t seed);

  void fill(std::span<std::byte> message, std::uint64_t flow, std::uint64_t sequence) const;
  // What is wrong, in words; nothing when all is right.
  std::optional<std::string> error(std::span<const std::byte> message, std::uint64_t flow,
                                   std::uint64_t sequence) const;

 private:
  const std::byte* source(std::uint64_t flow, std::uint64_t sequence) const;
  std::string describe(std::span<const std::byte> message, std::size_t wrong_at, std::uint64_t flow,
                       std::uint64_t sequence) const;

  std::uint64_t seed_;
  std::vector<std::uint64_t> words_;
};

}  // namespace railweave::perf::net_perf
