// Contents that reveal misplaced bytes: each 64-bit word names its comm, its message and its place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace railweave::nccl_test {

// REQUIRES: comm < 2^16, and at most 2 GiB of data. `message` counts modulo 2^20.
void fill_pattern(std::span<std::byte> data, std::uint32_t comm, std::uint64_t message);

// Returns none if every byte is as fill_pattern() wrote it; else the first wrong word, decoded.
std::optional<std::string> pattern_error(std::span<const std::byte> data, std::uint32_t comm, std::uint64_t message);

// The content of a buffer before a receive, and after its check.
inline constexpr std::byte kPoison{0xA5};
bool all_poison(std::span<const std::byte> data);

}  // namespace railweave::nccl_test
