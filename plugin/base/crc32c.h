// CRC-32C (Castagnoli, RFC 3720). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace railweave {

// The CRC of `bytes`, or of all bytes so far when `seed` is the CRC of the bytes before: crc32c(ab) == crc32c(b,
// crc32c(a)). Uses the processor's instruction where there is one.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed = 0);

// The same of 64 bytes, for frames' headers: each passes twice.
std::uint32_t crc32c_of_line(std::span<const std::uint64_t, 8> words);

// Without the instruction.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t seed = 0);

}  // namespace railweave
