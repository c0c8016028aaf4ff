#include "tests/nccl/pattern.h"

#include <algorithm>
#include <cstring>

namespace railweave::nccl_test {
namespace {

std::uint64_t first_word(std::uint32_t comm, std::uint64_t message) {
  return std::uint64_t(comm & 0xffff) << 48 | (message & 0xfffff) << 28;
}

std::string decoded(std::uint64_t word) {
  return "comm " + std::to_string(word >> 48) + " message " + std::to_string(word >> 28 & 0xfffff) + " offset " +
         std::to_string((word & 0xfffffff) * 8);
}

}  // namespace

void fill_pattern(std::span<std::byte> data, std::uint32_t comm, std::uint64_t message) {
  std::uint64_t word = first_word(comm, message);
  std::size_t at = 0;
  for (; at + 8 <= data.size(); at += 8, ++word) std::memcpy(&data[at], &word, 8);
  if (at < data.size()) std::memcpy(&data[at], &word, data.size() - at);
}

std::optional<std::string> pattern_error(std::span<const std::byte> data, std::uint32_t comm, std::uint64_t message) {
  std::uint64_t word = first_word(comm, message);
  for (std::size_t at = 0; at < data.size(); at += 8, ++word) {
    const std::size_t bytes = std::min<std::size_t>(8, data.size() - at);
    if (std::memcmp(&data[at], &word, bytes) == 0) continue;
    std::uint64_t found = 0;
    std::memcpy(&found, &data[at], bytes);
    return "at byte " + std::to_string(at) + " of " + std::to_string(data.size()) + ": expected " + decoded(word) +
           ", found " + decoded(found);
  }
  return {};
}

bool all_poison(std::span<const std::byte> data) {
  return data.empty() || (data[0] == kPoison && std::memcmp(&data[0], &data[0] + 1, data.size() - 1) == 0);
}

}  // namespace railweave::nccl_test
