// One element of any type, loaded and stored without alignment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/kernels/types.h"

namespace railweave::perf::collective {

using collectives::DataType;

// How many floats an element is made of: 2 for complex types, 0 for what is no float (8-bit floats are only moved).
int float_parts(DataType type);
bool is_signed(DataType type);
// Distance from 1 to the next float of the type, or of its parts.
double epsilon(DataType type);

// REQUIRES: part < float_parts(type). Stored rounded to nearest.
void store_float(DataType type, int part, double value, std::byte* to);
double load_float(DataType type, int part, const std::byte* from);

// An integer as it would be loaded again after being stored as this type: cut, and extended by its sign or by zeros.
std::uint64_t as_stored(DataType type, std::uint64_t value);

}  // namespace railweave::perf::collective
