#include "collectives/schedule/algorithms/sums.h"

#include "collectives/schedule/algorithms/flow.h"

namespace railweave::collectives {

Schedule reduce_towards_root(const Problem& problem, int parent, const std::vector<int>& children,
                             const std::vector<bool>& leaves) {
  const Chunks chunks(problem, {0, problem.counts[0]});
  const std::size_t partial_bytes = chunks.longest() * problem.partial_bytes;
  Builder builder(problem);
  std::vector<Slots> incoming;
  for (std::size_t i = 0; i < children.size(); ++i)
    incoming.emplace_back(builder, chunks.size(), kSlots,
                          leaves[i] ? chunks.longest() * problem.element_bytes : partial_bytes);
  const bool root = parent < 0, leaf = children.empty();
  const Slots sums(builder, root || leaf ? 0 : chunks.size(), kSlots, partial_bytes);
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    const Range chunk = chunks[k];
    std::vector<Piece> operands{builder.input(chunk)};
    for (std::size_t i = 0; i < children.size(); ++i) {
      operands.push_back(incoming[i].piece(k, leaves[i] ? Form::raw : Form::partial, chunk.count));
      builder.receive(children[i], operands.back());
    }
    if (root) {
      builder.reduce(operands, builder.output(chunk, Form::result));
    } else if (leaf) {
      builder.send(parent, operands[0]);
    } else {
      const Piece sum = sums.piece(k, Form::partial, chunk.count);
      builder.reduce(operands, sum);
      builder.send(parent, sum);
    }
  }
  return builder.take();
}

}  // namespace railweave::collectives
