#include "collectives/schedule/algorithms/tree.h"

#include "collectives/schedule/algorithms/flow.h"

namespace railweave::collectives {

Tree::Tree(const Problem& problem) {
  const int place = around(problem, problem.rank, -problem.root);
  depth = rounds_of_doubling(problem);
  int bit = 0;
  while (bit < depth && (place & (1 << bit)) == 0) ++bit;
  if (place != 0) parent = around(problem, problem.root, place & ~(1 << bit));
  for (int below = bit - 1; below >= 0; --below) {
    const int child = place + (1 << below);
    if (child >= problem.ranks) continue;
    children.push_back(around(problem, problem.root, child));
    leaves.push_back(below == 0 || child + 1 >= problem.ranks);
  }
}

}  // namespace railweave::collectives
