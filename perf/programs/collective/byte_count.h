// Parses sizes as nccl-tests takes them on its command line.
#pragma once

#include <cstddef>
#include <string_view>

#include "railweave/status.h"

namespace railweave::perf::collective {

// Takes a number with an optional fraction and an optional K, M or G (of 1024, either case): "8", "1.5M". Rounds down
// to whole bytes. Errors: invalid_argument, quoting the text.
Result<std::size_t> parse_byte_count(std::string_view text);

}  // namespace railweave::perf::collective
