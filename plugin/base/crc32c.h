// CRC-32C (Castagnoli, RFC 3720). Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace railweave {

// Returns the CRC of `bytes`. `seed`: the CRC of the bytes before, to continue it: crc32c(ab) == crc32c(b, crc32c(a)).
// Uses the processor's instruction where there is one.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed = 0);

// Returns the CRC of 64 bytes: for frame headers, whose CRC is computed at both ends.
std::uint32_t crc32c_of_line(std::span<const std::uint64_t, 8> words);

// As crc32c(), without the instruction.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t seed = 0);

}  // namespace railweave
