#include "collectives/schedule/algorithms/ring.h"

#include <algorithm>
#include <utility>

namespace railweave::collectives {

Ring::Ring(Builder& builder, const Layout& layout) : builder_(builder) {
  const Problem& problem = builder.problem();
  for (int hops = 0; hops < problem.ranks; ++hops) {
    chunks_.emplace_back(problem, layout[around(problem, problem.rank, -hops)]);
    most_ = std::max(most_, chunks_.back().size());
    longest_ = std::max(longest_, chunks_.back().longest());
  }
}

void Ring::hand_on(std::size_t first_chunk, std::size_t end_chunk, Form form) {
  const int ranks = builder_.problem().ranks;
  for (int hops = 1; hops < ranks; ++hops)
    for (std::size_t k = first_chunk; k < std::min(end_chunk, chunks(hops).size()); ++k) {
      const Piece piece = builder_.output(chunks(hops)[k], form);
      builder_.receive(previous(), piece);
      if (hops + 1 < ranks) builder_.send(next(), piece);
    }
}

RingReduction::RingReduction(Builder& builder, const Ring& ring, std::function<Piece(Range)> place_of)
    : builder_(builder),
      ring_(ring),
      place_of_(std::move(place_of)),
      widens_(builder.problem().partial_bytes > builder.problem().element_bytes),
      raw_(builder, widens_ ? ring.most() : 0, kSlots, ring.longest() * builder.problem().element_bytes),
      sums_(builder, ring.most() * std::size_t(builder.problem().ranks - 1), kSlots,
            ring.longest() * builder.problem().partial_bytes) {}

void RingReduction::reduce(std::size_t first_chunk, std::size_t end_chunk) {
  const int ranks = builder_.problem().ranks;
  const Chunks& sent = ring_.chunks(1);
  for (std::size_t k = first_chunk; k < std::min(end_chunk, sent.size()); ++k)
    builder_.send(ring_.next(), builder_.input(sent[k]));
  for (int hops = 2; hops <= ranks; ++hops) {
    const Chunks& chunks = ring_.chunks(hops);
    for (std::size_t k = first_chunk; k < std::min(end_chunk, chunks.size()); ++k) add(hops, chunks[k]);
  }
}

void RingReduction::add(int hops, Range chunk) {
  const bool first = hops == 2, last = hops == builder_.problem().ranks;
  const Form form = first ? Form::raw : Form::partial;
  const Piece incoming = (first && widens_ ? raw_ : sums_).piece(item_, form, chunk.count);
  const Piece sum = last ? place_of_(chunk) : sums_.piece(item_, Form::partial, chunk.count);
  ++item_;
  builder_.receive(ring_.previous(), incoming);
  const Piece operands[] = {incoming, builder_.input(chunk)};
  builder_.reduce(operands, sum);
  if (!last) builder_.send(ring_.next(), sum);
}

}  // namespace railweave::collectives
