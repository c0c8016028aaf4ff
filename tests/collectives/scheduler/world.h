// A world of ranks, each with a scheduler and a program, and what may happen next in it.
//
// An operation takes some steps at each of its ranks, which begins those of a queue in the order of their issue. Each
// step wants the operation live there, and from the second on that every member has done the one before it; the last
// may also come while it is held (what was posted goes on). A rank's time passes as it likes: what is live may stall,
// the longest idle first, whether it could have moved (the rank was slow) or not, while what has moved since does not.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/scheduler/scheduler.h"

namespace railweave::collectives_test {

struct Act {
  enum class Kind { issue, wait, limit };
  Kind kind = Kind::issue;
  std::size_t operation = 0;               // limit: so many operations live from now on
  collectives::Scheduler::Lead lead = {};  // issue: learned
};

struct World {
  struct Operation {
    std::vector<int> members;
    collectives::Scheduler::QueueId line = 0;  // the same for operations of one group and class
    Priority priority = Priority::normal;
    std::size_t bytes = MiB;
  };
  std::vector<Operation> operations;
  std::vector<std::vector<Act>> programs;  // by rank
  collectives::Window window;              // all zero: off
  bool turns = true;                       // false: as if nothing ever stalled
  int steps = 2;                           // of each operation at each rank
};

struct Rank {
  collectives::Scheduler scheduler;
  std::size_t next = 0;                         // of its program
  std::uint64_t issued_bytes = 0;               // V
  std::vector<collectives::Scheduler::Id> ids;  // by operation; 0: not issued
  std::vector<int> done;                        // steps, by operation
  TimePoint now{std::chrono::seconds(1)};
  bool too_close = false;  // two moves, for one to stall without the other
};

using State = std::vector<Rank>;

State beginning(const World& world);

// What a rank can do next.
struct Move {
  enum class Kind {
    act,  // its program's next
    step,
    step_held,  // the last
    part,       // of a step: the operation has moved, and wants as much as before
    stall,      // of some of what is live
  };
  Kind kind = Kind::act;
  // Operation; stall: of what has moved last at the so-manieth of the times at which something live has, or before.
  std::size_t which = 0;
};

// As far as it depends on the rank alone. The stalls are last, the fewest first.
std::vector<Move> moves(const World& world, const Rank& rank, std::size_t number);
// A step may come once every member has done those before it. `done(rank)`: steps of the operation that are done there.
template <class Done>
bool peers_let(const World& world, const Move& move, std::size_t number, const Done& done) {
  if (move.kind != Move::Kind::step && move.kind != Move::Kind::step_held) return true;
  for (const int member : world.operations[move.which].members)
    if (done(std::size_t(member)) < done(number)) return false;
  return true;
}
// Happens sooner or later whatever the times are; the others need not.
inline bool comes_by_itself(const Move& move) { return move.kind == Move::Kind::act || move.kind == Move::Kind::step; }
void make(const World& world, Rank& rank, std::size_t number, const Move& move);

// What is live and has not moved since.
bool stalled(const Rank& rank, TimePoint moved_at);
bool over(const World& world, const Rank& rank, std::size_t number);
std::string text(const World& world, const State& state);

}  // namespace railweave::collectives_test
