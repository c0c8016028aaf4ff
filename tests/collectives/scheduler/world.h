// A world of ranks, each with a scheduler and a program, and what may happen next in it.
//
// An operation takes some steps at each of its ranks. The first is done by whoever is live; each next one once every member
// has done as many (their posts stand, whether they are live by then or not). A rank in whose window a line cannot move may
// find that time has passed, also for what could have moved (it was slow).
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
    collectives::Scheduler::Line line = 0; // the same for operations of one group and class
    Class priority = Class::normal;
    std::size_t bytes = MiB;
  };
  std::vector<Operation> operations;
  std::vector<std::vector<Act>> programs;  // by rank
  collectives::Window window;         // all zero: off
  bool turns = true;                       // false: as if nothing ever stalled
  int steps = 2;                           // of each operation at each rank
};

struct Rank {
  collectives::Scheduler scheduler;
  std::size_t next = 0;                    // of its program
  std::uint64_t issued_bytes = 0;          // V
  std::vector<collectives::Scheduler::Id> ids;  // by operation; 0: not issued
  std::vector<int> done;                   // steps, by operation
  TimePoint now{std::chrono::seconds(1)};
};

using State = std::vector<Rank>;

State beginning(const World& world);

// The rank's program: its next act.
bool may_act(const World& world, const State& state, std::size_t rank);
void act(const World& world, State& state, std::size_t rank);
// One step of an operation at a rank.
bool may_step(const World& world, const State& state, std::size_t rank, std::size_t operation);
void step(const World& world, State& state, std::size_t rank, std::size_t operation);
// Time passes, where nothing live of some line may take a step.
bool may_pass_turn(const World& world, const State& state, std::size_t rank);
void pass_turn(State& state, std::size_t rank);

bool over(const World& world, const State& state);
std::string text(const World& world, const State& state);

}  // namespace railweave::collectives_test
