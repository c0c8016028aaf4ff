#include "collectives/schedule/algorithms/ring.h"

#include "collectives/schedule/algorithms/flow.h"

namespace railweave::collectives {

void ring_hand_on(Builder& builder, const Layout& layout, Form form) {
  const Problem& problem = builder.problem();
  const int next = around(problem, problem.rank, 1), previous = around(problem, problem.rank, -1);
  for (int hop = 1; hop < problem.ranks; ++hop) {
    const Chunks chunks(problem, layout[around(problem, problem.rank, -hop)]);
    for (std::size_t k = 0; k < chunks.size(); ++k) {
      const Piece piece = builder.output(chunks[k], form);
      builder.receive(previous, piece);
      if (hop + 1 < problem.ranks) builder.send(next, piece);
    }
  }
}

}  // namespace railweave::collectives
