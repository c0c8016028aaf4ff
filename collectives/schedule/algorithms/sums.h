// Reduces along a tree of any shape, chunk by chunk.
#pragma once

#include <vector>

#include "collectives/schedule/builder.h"

namespace railweave::collectives {

// A rank adds what its children send to its own input, in the order of `children`, and sends the sum to its parent. The
// root (parent -1) finishes. `leaves[i]`: child i has no children, so it sends its raw input.
Schedule reduce_towards_root(const Problem& problem, int parent, const std::vector<int>& children,
                             const std::vector<bool>& leaves);

}  // namespace railweave::collectives
