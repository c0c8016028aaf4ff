// Every interleaving of a small world of ranks, each with a scheduler and a program.
//
// An operation takes some steps at each of its ranks. The first is done by whoever is live; each next one once every member
// has done as many (their posts stand, whether they are live by then or not). A rank in whose window nothing can move may
// find that time has passed.
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

struct SmallWorld {
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

struct Found {
  std::size_t states = 0;
  std::size_t dead = 0;                    // from which no way leads to where everything is over
  std::string example;                     // of these
};

Found search(const SmallWorld& world);

}  // namespace railweave::collectives_test
