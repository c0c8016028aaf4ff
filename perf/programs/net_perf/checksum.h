// Returns SHA-256 sums in hex.
#pragma once

#include <span>
#include <string>

namespace railweave::perf::net_perf {

std::string sha256(std::span<const std::byte> data);

}  // namespace railweave::perf::net_perf
