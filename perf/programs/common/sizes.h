// Sizes as people write them on command lines: "8", "64K", "1M", "2G" (powers of 1024).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "railweave/status.h"

namespace railweave::perf {

// Errors: invalid_argument, quoting the text.
Result<std::size_t> parse_size(std::string_view text);

// Parses "8,4K,64K".
Result<std::vector<std::size_t>> parse_sizes(std::string_view text);

struct SizeRange {
  std::size_t smallest = 0, largest = 0;
};
// Parses "0..8M".
Result<SizeRange> parse_size_range(std::string_view text);

// Returns the shortest exact form: 1048576 is "1M", 1000 is "1000".
std::string format_size(std::size_t bytes);

}  // namespace railweave::perf
