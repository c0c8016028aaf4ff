// A binomial tree of the ranks. A rank's place is its distance from the root; its parent's place is its own without the
// lowest set bit.
#pragma once

#include <vector>

#include "collectives/schedule/problem.h"

namespace railweave::collectives {

struct Tree {
  explicit Tree(const Problem& problem);
  int parent = -1;            // rank; -1: this is the root
  std::vector<int> children;  // ranks, the deepest subtree first
  std::vector<bool> leaves;   // by child: the child has no children
  int depth = 0;              // of the whole tree
};

}  // namespace railweave::collectives
