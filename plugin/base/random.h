// Randomness that names things, and that keeps them apart from what strangers say. plugin/protocol never includes this.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "railweave/status.h"

namespace railweave {

// 128 bits that no other process or call has: from the kernel. Any thread; never fails.
std::array<std::uint8_t, 16> random_id();

// Bytes that nobody can foresee: from the kernel, or an error. At most 256 of them. Any thread.
Status fill_with_random(std::span<std::byte> bytes);

}  // namespace railweave
