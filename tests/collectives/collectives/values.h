// Numbers of any DataType, and the results of their reductions. Reductions use small integers that every type holds
// exactly (complex: the imaginary part is twice the real one), so a result is exact whatever the order.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/kernels/types.h"

namespace railweave::collectives_test {

using Bytes = std::vector<std::byte>;

// Appends what operations move from rank `r`: `count` elements from index `first` of the rank's endless row. All bits
// vary (boolean: 0 or 1).
void append_row(Bytes& to, int r, std::size_t first, std::size_t count, collectives::DataType type);
// Appends what operations reduce from rank `r`, from index 0 on.
void append_contribution(Bytes& to, collectives::Reduction reduction, int ranks, int r, std::size_t count,
                         collectives::DataType type);
// Appends the reduced contributions of all ranks. With more than eight ranks only sum, min and max of types of 32 bits
// or more are exact.
void append_reduced(Bytes& to, collectives::Reduction reduction, int ranks, std::size_t first, std::size_t count,
                    collectives::DataType type);
inline constexpr double kFactor = 2;  // of premul_sum

}  // namespace railweave::collectives_test
