// Contents that betray misplacement: each 64-bit word says which comm, which message and which place it belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace railweave::nccl_test {

// comm < 2^16, message counted modulo 2^20, offsets up to 2 GiB.
void fill_pattern(std::span<std::byte> data, std::uint32_t comm, std::uint64_t message);

// Empty when every byte is as fill_pattern made it; else the first wrong word, decoded.
std::optional<std::string> pattern_error(std::span<const std::byte> data, std::uint32_t comm, std::uint64_t message);

// What a buffer holds before a receive and after its check.
inline constexpr std::byte kPoison{0xA5};
bool all_poison(std::span<const std::byte> data);

}  // namespace railweave::nccl_test
