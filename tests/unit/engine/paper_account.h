// Writes places of a rail's account as lanes of other processes do, well-behaved ones or not.
#pragma once

#include <algorithm>

#include "engine/credit/rail_account.h"

namespace railweave::engine {

// The values of one place.
struct PaperPlace {
  TimePoint polled_at;
  bool demand = true;
  bool turn = false;
  TimePoint used_at = polled_at;  // when the turn was used last
  std::uint32_t turns = 0;
};

// Writes place `number`. All places up to it count as taken before.
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
