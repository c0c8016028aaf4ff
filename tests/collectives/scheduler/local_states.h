// LocalStates: the states of one rank of a world, each once, with the moves that lead on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "world.h"

namespace railweave::collectives_test {

class LocalStates {
 public:
  using Number = std::uint16_t;
  struct Edge {
    Move move;
    Number target = 0;
  };
  struct Local {
    Rank rank;
    std::size_t progress = 0;  // acts and steps done
    bool over = false;
    bool explored = false;
    std::vector<Edge> edges;  // in the order of moves(), without those that change nothing
  };

  LocalStates(const World& world, std::size_t number, Rank first);

  const Local& operator[](Number state) const { return locals_[state]; }
  // Returns the state with its edges. The reference stays valid.
  const Local& explored(Number state);

 private:
  Number add(Rank rank);

  const World& world_;
  std::size_t number_;  // of the rank
  std::deque<Local> locals_;
  std::unordered_map<std::string, Number> known_;
};

}  // namespace railweave::collectives_test
