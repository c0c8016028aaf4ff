// Numbers as any DataType, and what reductions of them give. All values are small integers that every type holds exactly,
// so that a result is right or wrong, whatever the order of the operands.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/types.h"

namespace railweave::collectives_test {

using Bytes = std::vector<std::byte>;

// Element `i` of what rank `r` contributes: 0, 1, 2 or 3 (boolean: 0 or 1).
int value_of(int r, std::size_t i, collectives::DataType type);
// What the contributions of ranks 0..ranks-1 reduce to.
int reduced(collectives::Reduction reduction, collectives::DataType type, int ranks, std::size_t i);
// What rank r puts in for this reduction: value_of(), or less; times `ranks` for avg.
int contribution(collectives::Reduction reduction, int ranks, int r, std::size_t i, collectives::DataType type);
inline constexpr double kFactor = 2;     // of premul_sum

// `value` as an element of the type at index `i` (complex: the imaginary part is value / 2 rounded down, or 0 for products).
void store(Bytes& to, collectives::DataType type, std::size_t i, int value);
}  // namespace railweave::collectives_test
