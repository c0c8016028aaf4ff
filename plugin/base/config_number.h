// Numbers as a configuration value writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace railweave {

enum class ValueKind {
  text,     // no number
  integer,  // decimal, or hexadecimal with 0x
  size,     // in bytes; written with KiB, MiB or GiB (or K, M, G), or without
  seconds,  // in nanoseconds; written as a decimal fraction of seconds
};

// Nothing: `text` is not wholly a number of this kind, or one beyond any use (2^32 units, 10^9 seconds).
std::optional<std::int64_t> parse_number(ValueKind kind, std::string_view text);

// In the form that parse_number() takes.
std::string number_text(ValueKind kind, std::int64_t number);

}  // namespace railweave
