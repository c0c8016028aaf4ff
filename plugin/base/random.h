// Random bytes for ids and secrets. plugin/protocol never includes this file. Threads: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "railweave/status.h"

namespace railweave {

// Returns 128 bits that no other process or call gets, from the kernel's getrandom(). Never fails: in a sandbox without
// getrandom() the bits are made of the process's AT_RANDOM, its pid and the time.
std::array<std::uint8_t, 16> random_id();

// Returns two lower-case hexadecimal digits for each byte.
std::string hex(std::span<const std::uint8_t> bytes);

// Fills `bytes` with unpredictable bytes from the kernel. REQUIRES: at most 256 bytes. Errors: system.
Status fill_with_random(std::span<std::byte> bytes);

}  // namespace railweave
