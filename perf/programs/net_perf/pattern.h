// Contents that reveal misplacement. The pool has 64-bit words that encode their own index. Every message is a stretch
// of the pool whose start depends on flow and sequence. Filling is thus a copy, checking is a comparison, and a wrong
// word shows its origin.
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
  // Returns a description of the first wrong word, or nothing if all are right.
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
