// A binomial tree over the ranks, counted from the root: the parent of a place is the place without its lowest bit.
#pragma once

#include <vector>

#include "collectives/schedule/problem.h"

namespace railweave::collectives {

struct Tree {
  explicit Tree(const Problem& problem);
  int parent = -1;            // rank; -1: this is the root
  std::vector<int> children;  // ranks, the deepest subtree first
  std::vector<bool> leaves;   // by child: it has no children
  int depth = 0;              // of the whole tree
};

}  // namespace railweave::collectives
