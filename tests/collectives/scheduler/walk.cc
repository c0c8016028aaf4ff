#include "walk.h"

#include <random>

namespace railweave::collectives_test {
namespace {

struct Move {
  enum class Kind { act, step, pass_turn };
  Kind kind = Kind::act;
  std::size_t operation = 0;
};

std::vector<Move> moves_of(const World& world, const State& state, const std::vector<std::size_t>& own, std::size_t rank, bool seldom) {
  std::vector<Move> moves;
  if (may_act(world, state, rank)) moves.push_back({Move::Kind::act});
  for (const std::size_t o : own)
    if (may_step(world, state, rank, o)) moves.push_back({Move::Kind::step, o});
  // Seldom beside others: a rank is mostly quicker than a stall.
  if ((moves.empty() || seldom) && may_pass_turn(world, state, rank)) moves.push_back({Move::Kind::pass_turn});
  return moves;
}

}  // namespace

Walked walk(const World& world, std::uint64_t seed, std::size_t moves_most) {
  std::mt19937_64 random(seed);
  const std::size_t ranks = world.programs.size();
  std::vector<std::vector<std::size_t>> own(ranks);
  for (std::size_t o = 0; o < world.operations.size(); ++o)
    for (const int member : world.operations[o].members) own[std::size_t(member)].push_back(o);
  std::vector<double> pace;
  for (std::size_t r = 0; r < ranks; ++r) pace.push_back(random() % 4 == 0 ? 0.01 : 1);
  std::discrete_distribution<std::size_t> anyone(pace.begin(), pace.end());

  State state = beginning(world);
  Walked walked;
  std::size_t in_vain = 0;                 // ranks asked since the last move
  while (walked.moves < moves_most && !(walked.over = over(world, state))) {
    // Whoever can move comes up soon; if nobody did for long, everybody is asked.
    std::size_t rank = anyone(random);
    std::vector<Move> moves = moves_of(world, state, own[rank], rank, random() % 16 == 0);
    if (moves.empty() && ++in_vain > 10 * ranks)
      for (rank = 0; rank < ranks && (moves = moves_of(world, state, own[rank], rank, true)).empty(); ++rank) {
      }
    if (moves.empty() && rank < ranks) continue;
    if (moves.empty()) break;
    in_vain = 0;
    const Move move = moves[random() % moves.size()];
    switch (move.kind) {
      case Move::Kind::act: act(world, state, rank); break;
      case Move::Kind::step: step(world, state, rank, move.operation); break;
      case Move::Kind::pass_turn: pass_turn(state, rank), ++walked.turns_passed; break;
    }
    ++walked.moves;
  }
  if (!walked.over) walked.where = text(world, state);
  return walked;
}

}  // namespace railweave::collectives_test
