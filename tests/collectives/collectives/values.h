// Numbers as any DataType, and what reductions of them give. What is reduced are small integers that every type holds
// exactly (complex: the imaginary part is twice the real one), so that a result is right or wrong, whatever the order.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/kernels/types.h"

namespace railweave::collectives_test {

using Bytes = std::vector<std::byte>;

// What rank `r` has to be moved: `count` elements from index `first` of its endless row. All bits vary (boolean: 0 or
// 1).
void append_row(Bytes& to, int r, std::size_t first, std::size_t count, collectives::DataType type);
// What it has to be reduced, from index 0.
void append_contribution(Bytes& to, collectives::Reduction reduction, int ranks, int r, std::size_t count,
                         collectives::DataType type);
// What those of all ranks reduce to. More than eight ranks: sum, min and max of types of 32 bits and more.
void append_reduced(Bytes& to, collectives::Reduction reduction, int ranks, std::size_t first, std::size_t count,
                    collectives::DataType type);
inline constexpr double kFactor = 2;  // of premul_sum

}  // namespace railweave::collectives_test
