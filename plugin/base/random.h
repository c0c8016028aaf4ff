// Randomness that names things. plugin/protocol never includes this.
#pragma once

#include <array>
#include <cstdint>

namespace railweave {

// 128 bits that no other process or call has: from the kernel. Any thread; never fails.
std::array<std::uint8_t, 16> random_id();

}  // namespace railweave
