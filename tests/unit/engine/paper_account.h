// Places of a rail's account that a test writes by hand: lanes of other processes, well-behaved or not.
#pragma once

#include <algorithm>

#include "engine/credit/rail_account.h"

namespace railweave::engine {

struct PaperPlace {
  TimePoint polled_at;
  bool demand = true;
  bool turn = false;
  TimePoint used_at = polled_at;  // the turn
  std::uint32_t turns = 0;
};

// Places up to this one count as taken once.
inline void write_place(AccountMemory& memory, int number, const PaperPlace& paper) {
  AccountMemory::Place& place = memory.places[std::size_t(number)];
  place.leased_until = (paper.polled_at + RailAccount::kLease).time_since_epoch().count();
  place.has_demand = paper.demand;
  place.has_turn = paper.turn;
  place.turn_used_at = paper.used_at.time_since_epoch().count();
  place.turns = paper.turns;
  memory.used = std::max(memory.used.load(), number + 1);
}

}  // namespace railweave::engine
