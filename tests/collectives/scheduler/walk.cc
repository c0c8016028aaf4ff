#include "walk.h"

#include <algorithm>
#include <random>

namespace railweave::collectives_test {
namespace {

std::vector<Move> moves_of(const World& world, const State& state, std::size_t rank, bool seldom) {
  std::vector<Move> all = moves(world, state[rank], rank);
  std::erase_if(all, [&](const Move& move) {
    return !peers_let(world, move, rank, [&](std::size_t r) { return state[r].done[move.which]; });
  });
  // Moves that need not happen are rare beside those that come by themselves: a rank is mostly quicker than a stall. A
  // rank without moves of the latter kind stalls.
  const bool moves = std::ranges::any_of(all, comes_by_itself);
  if (moves && !seldom) std::erase_if(all, [](const Move& move) { return !comes_by_itself(move); });
  if (!moves) std::erase_if(all, [](const Move& move) { return move.kind != Move::Kind::stall; });
  return all;
}

bool over(const World& world, const State& state) {
  for (std::size_t r = 0; r < state.size(); ++r)
    if (!over(world, state[r], r)) return false;
  return true;
}

}  // namespace

Walked walk(const World& world, std::uint64_t seed, std::size_t moves_most) {
  std::mt19937_64 random(seed);
  const std::size_t ranks = world.programs.size();
  std::vector<double> pace;
  for (std::size_t r = 0; r < ranks; ++r) pace.push_back(random() % 4 == 0 ? 0.01 : 1);
  std::discrete_distribution<std::size_t> anyone(pace.begin(), pace.end());

  State state = beginning(world);
  Walked walked;
  std::size_t in_vain = 0;  // draws without a move since the last one
  while (walked.moves < moves_most && !(walked.over = over(world, state))) {
    // A rank that can move is drawn soon. After many draws in vain, every rank is tried.
    std::size_t rank = anyone(random);
    std::vector<Move> moves = moves_of(world, state, rank, random() % 16 == 0);
    if (moves.empty() && ++in_vain > 10 * ranks)
      for (rank = 0; rank < ranks && (moves = moves_of(world, state, rank, true)).empty(); ++rank) {
      }
    if (moves.empty() && rank < ranks) continue;
    if (moves.empty()) break;
    in_vain = 0;
    const Move move = moves[random() % moves.size()];
    make(world, state[rank], rank, move);
    walked.turns_passed += move.kind == Move::Kind::stall;
    ++walked.moves;
  }
  if (!walked.over) walked.where = text(world, state);
  return walked;
}

}  // namespace railweave::collectives_test
