#include "collectives/schedule/algorithms/owner.h"

#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/load.h"

namespace railweave::collectives {

Owner::Owner(Builder& builder, std::size_t chunks, std::size_t longest) : builder_(builder) {
  // Half the slots within a host: no network needs to be kept full, and data that fits a core's cache is reduced
  // faster.
  const std::size_t slots = Topology(builder.problem()).hosts == 1 ? kSlots / 2 : kSlots;
  const std::size_t others = std::size_t(builder.problem().ranks - 1);
  slots_.reserve(others);
  operands_.reserve(others + 1);
  for (std::size_t i = 0; i < others; ++i)
    slots_.emplace_back(builder, chunks, slots, longest * builder.problem().element_bytes);
}

void Owner::receive(std::size_t chunk, std::size_t count) {
  const Problem& problem = builder_.problem();
  for (int distance = 1; distance < problem.ranks; ++distance) {
    const int from = around(problem, problem.rank, -distance);
    builder_.receive(from, slots_of(from).piece(chunk, Form::raw, count));
  }
}

void Owner::reduce(std::size_t chunk, const Piece& own, const Piece& to) {
  const Problem& problem = builder_.problem();
  operands_.clear();
  for (int rank = 0; rank < problem.ranks; ++rank)
    operands_.push_back(rank == problem.rank ? own : slots_of(rank).piece(chunk, Form::raw, own.count));
  builder_.reduce(operands_, to);
}

}  // namespace railweave::collectives
