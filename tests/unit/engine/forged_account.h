// Writes into a rail's account what a hostile or broken process of the same user may write.
#pragma once

#include <cstring>
#include <limits>
#include <random>

#include "base/clock.h"
#include "engine/credit/rail_account.h"

namespace railweave::engine {

// One write to all places, or to every nth. Unless a field below says otherwise, each place written has demand and a
// fresh lease.
struct Forgery {
  // now: a fresh lease; never: a free place; soon: longer than a lease lasts; last, first: the greatest and the least
  // number
  enum Lease : int { now, never, past, soon, far, last, first };
  enum Turn : int { waits, has, used_in_future };

  bool is_noise = false;  // random bytes everywhere; the fields below do not count
  int used = AccountMemory::kPlaces;
  Lease lease = now;
  Turn turn = waits;
  std::uint32_t turns = 0;  // turns that each place has more than the place written before
  std::uint64_t arrived_bytes = 0;
  std::uint32_t min_rtt_us = 0;
  int every = 1;  // writes every nth place only
};

inline std::int64_t forged_lease(Forgery::Lease lease) {
  const std::int64_t t = now().time_since_epoch().count();
  switch (lease) {
    case Forgery::now: return t + RailAccount::kLease.count();
    case Forgery::never: return 0;
    case Forgery::past: return t - std::int64_t(1e10);
    case Forgery::soon: return t + RailAccount::kLease.count() * 3 / 2;
    case Forgery::far: return t + std::int64_t(1e15);
    case Forgery::last: return std::numeric_limits<std::int64_t>::max();
    case Forgery::first: return std::numeric_limits<std::int64_t>::min();
  }
  return 0;
}

inline void forge_place(AccountMemory::Place& place, const Forgery& forgery, std::uint32_t number) {
  place.leased_until = forged_lease(forgery.lease);
  place.arrived_bytes = forgery.arrived_bytes;
  place.turn_used_at = forgery.turn == Forgery::used_in_future ? std::numeric_limits<std::int64_t>::max()
                                                               : now().time_since_epoch().count();
  place.turns = forgery.turns * number;
  place.min_rtt_us = forgery.min_rtt_us;
  place.has_demand = 1;
  place.has_turn = forgery.turn != Forgery::waits;
}

inline void forge_account(AccountMemory& memory, const Forgery& forgery, std::mt19937_64& random) {
  if (forgery.is_noise) {
    memory.used = std::int32_t(random());
    for (AccountMemory::Place& place : memory.places) {
      place.leased_until = std::int64_t(random());
      place.arrived_bytes = random();
      place.turn_used_at = std::int64_t(random());
      place.turns = std::uint32_t(random());
      place.min_rtt_us = std::uint32_t(random());
      place.has_demand = std::uint8_t(random());
      place.has_turn = std::uint8_t(random());
    }
    return;
  }
  memory.used = forgery.used;
  for (std::size_t i = 0; i < memory.places.size(); i += std::size_t(forgery.every))
    forge_place(memory.places[i], forgery, std::uint32_t(i) / std::uint32_t(forgery.every));
}

}  // namespace railweave::engine
