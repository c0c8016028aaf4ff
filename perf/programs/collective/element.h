// One element of any type, loaded and stored without alignment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/kernels/types.h"

namespace railweave::perf::collective {

using collectives::DataType;

// Returns how many floats an element has: 2 for complex types, 0 for types without arithmetic as floats (8-bit floats
// are only moved).
int float_parts(DataType type);
bool is_signed(DataType type);
// Returns the distance from 1 to the next float of the type, or of its parts.
double epsilon(DataType type);

// Stores rounded to nearest. REQUIRES: part < float_parts(type).
void store_float(DataType type, int part, double value, std::byte* to);
double load_float(DataType type, int part, const std::byte* from);

// Returns the integer that a load gives after `value` was stored as this type: cut, then extended by its sign or by
// zeros.
std::uint64_t as_stored(DataType type, std::uint64_t value);

}  // namespace railweave::perf::collective
