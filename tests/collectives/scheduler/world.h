// A world of ranks, each with a scheduler and a program, and the moves that are possible next.
//
// An operation takes some steps at each of its ranks. A rank begins the operations of a queue in the order of their
// issue. A step needs the operation to be live at the rank and, from the second step on, every member to have done the
// step before. The last step may also happen while the operation is held, because what was posted goes on. A rank's
// time passes at will: live operations may stall, those that are idle longest first, even if they could have moved (the
// rank was slow). Operations that have moved since do not stall.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/scheduler/scheduler.h"

namespace railweave::collectives_test {

struct Act {
  enum class Kind { issue, wait, limit };
  Kind kind = Kind::issue;
  std::size_t operation = 0;               // limit: most live operations from now on
  collectives::Scheduler::Lead lead = {};  // issue: the learned lead
};

struct World {
  struct Operation {
    std::vector<int> members;
    collectives::Scheduler::QueueId line = 0;  // the same for operations of one group and priority
    Priority priority = Priority::normal;
    std::size_t bytes = MiB;
  };
  std::vector<Operation> operations;
  std::vector<std::vector<Act>> programs;  // by rank
  collectives::Window window;              // all zero: off
  bool turns = true;                       // false: no operation ever stalls
  int steps = 2;                           // of each operation at each rank
};

struct Rank {
  collectives::Scheduler scheduler;
  std::size_t next = 0;                         // next act of the program
  std::uint64_t issued_bytes = 0;               // "V" of docs/internals/scheduler.md
  std::vector<collectives::Scheduler::Id> ids;  // by operation; 0: not issued
  std::vector<int> done;                        // by operation: steps done
  TimePoint now{std::chrono::seconds(1)};
  bool too_close = false;  // two moves: neither can stall without the other
};

using State = std::vector<Rank>;

State beginning(const World& world);

// One thing that a rank can do next.
struct Move {
  enum class Kind {
    act,  // the next act of the program
    step,
    step_held,  // the last step, while the operation is held
    part,       // the operation moves without finishing a step
    stall,      // some live operations stall
  };
  Kind kind = Kind::act;
  // The operation. stall: an index into the times of the live operations' last moves, the longest ago first; operations
  // that moved last at this time or before stall.
  std::size_t which = 0;
};

// Returns the moves of a rank, as far as they depend on this rank alone. Stalls come last, those of the fewest
// operations first.
std::vector<Move> moves(const World& world, const Rank& rank, std::size_t number);
// Returns true if the other ranks allow the move: a step needs every member to have done the steps before.
// `done(rank)`: steps of the operation that the rank has done.
template <class Done>
bool peers_let(const World& world, const Move& move, std::size_t number, const Done& done) {
  if (move.kind != Move::Kind::step && move.kind != Move::Kind::step_held) return true;
  for (const int member : world.operations[move.which].members)
    if (done(std::size_t(member)) < done(number)) return false;
  return true;
}
// True: the move happens sooner or later, whatever the times are. Other moves need not happen.
inline bool comes_by_itself(const Move& move) { return move.kind == Move::Kind::act || move.kind == Move::Kind::step; }
void make(const World& world, Rank& rank, std::size_t number, const Move& move);

// True: a live operation that moved last at `moved_at` has stalled.
bool stalled(const Rank& rank, TimePoint moved_at);
bool over(const World& world, const Rank& rank, std::size_t number);
std::string text(const World& world, const State& state);

}  // namespace railweave::collectives_test
