// The account of one rail of this host, common to all lanes that receive by the rail (docs/internals/credit_windows.md,
// "The account"). Each lane has a place, which only the lane's process writes and all read. Other processes of the user
// may share the memory (credit/shared_account.h). So every value read is clamped, no lane waits for another lane longer
// than a lease, and the memory holds no lock.
//
// Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "railweave/units.h"

namespace railweave::engine {

// The shared memory. Lock-free atomics only: the layout is the same in all processes of one build. Another layout needs
// another kVersion.
struct AccountMemory {
  static constexpr std::uint32_t kVersion = 2;
  static constexpr int kPlaces = 1024;

  struct alignas(64) Place {
    // nanoseconds of CLOCK_MONOTONIC; 0: free; in the past: the place's owner is idle, stopped or gone
    std::atomic<std::int64_t> leased_until{0};
    std::atomic<std::uint64_t> arrived_bytes{0};  // in total, of all owners of the place
    std::atomic<std::int64_t> turn_used_at{0};    // ns of CLOCK_MONOTONIC: of the turn's begin, or its last segment
    std::atomic<std::uint32_t> turns{0};          // turns that the lane has had; wraps around
    std::atomic<std::uint32_t> min_rtt_us{0};     // the lane's shortest round trip; 0: not known
    std::atomic<std::uint32_t> rate_kb_per_s{0};  // the rail's, as the lane measures it (ArrivalRate); 0: not known
    std::atomic<std::uint8_t> has_demand{0};      // 1: the peer has more to send
    std::atomic<std::uint8_t> has_turn{0};        // 1: the lane has a turn
  };

  std::atomic<std::int32_t> used{0};  // places of this index and above were never taken
  std::array<Place, kPlaces> places;
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<std::uint8_t>::is_always_lock_free);

// How long a turn may go without a segment. A turn's bytes may wait in the rail's whole queue, so both times follow the
// length of this queue (turn_times()).
struct TurnTimes {
  Nanos stalled = std::chrono::milliseconds(1);  // after so long the turn keeps no other turn from beginning
  Nanos unused = std::chrono::milliseconds(4);   // after so long the turn is over
};

// Sums over all lanes of a rail.
struct RailLoad {
  int lanes = 0;                    // present, idle ones included; a lane of an ended process counts for kRemembered
  int demanding = 0;                // of `lanes`: those that have more to send
  int turns = 0;                    // of `demanding`: those that have a turn and use it
  int turns_held = 0;               // of `demanding`: those that have a turn, used or not
  bool any_waits = false;           // some demanding lane waits for a turn
  std::uint32_t fewest_turns = 0;   // fewest turns of a lane that waits for a turn
  std::uint32_t most_turns = 0;     // most turns of a lane that has a turn
  std::uint64_t arrived_bytes = 0;  // in total
  Nanos least_rtt{0};               // the shortest round trip of `lanes`; 0: none is known
  Rate least_rate{};                // the lowest rate that a demanding lane measured for the rail; 0: none is known
};

class RailAccount {
 public:
  // length of a lease, renewed at each poll: a process may wait so long for a core
  static constexpr Nanos kLease = std::chrono::milliseconds(500);
  static constexpr Nanos kPollMost = std::chrono::milliseconds(100);  // between polls of a lane with demand
  static constexpr Nanos kRemembered = std::chrono::seconds(60);      // an owner that does not poll for so long is gone
  // a lane that waits for a turn and does not poll for so long keeps no other lane waiting
  static constexpr Nanos kAbsent = std::chrono::milliseconds(3);

  // The account belongs to this process alone, until share().
  RailAccount() : RailAccount(std::make_shared<AccountMemory>()) {}
  explicit RailAccount(std::shared_ptr<AccountMemory> memory) { share(std::move(memory)); }

  // Switches the account to `memory`. A lane with a place in the former memory takes a place in `memory` at its next
  // renew().
  void share(std::shared_ptr<AccountMemory> memory);
  AccountMemory& memory() const { return *now_.load(std::memory_order_acquire); }

 private:
  std::atomic<AccountMemory*> now_{nullptr};
  Mutex mutex_;
  std::vector<std::shared_ptr<AccountMemory>> kept_ RW_GUARDED_BY(mutex_);  // also former ones: lanes may use them
};

// Sums up all places of `memory`. Any thread.
RailLoad load_of(const AccountMemory& memory, TimePoint now, const TurnTimes& times = {});

// One lane's place in the account, freed by the destructor. Threads: under the lane's claim.
class AccountPlace {
 public:
  explicit AccountPlace(std::shared_ptr<RailAccount> account) : account_(std::move(account)) {}
  ~AccountPlace() { leave(); }
  AccountPlace(const AccountPlace&) = delete;
  AccountPlace& operator=(const AccountPlace&) = delete;

  enum class Renewed { kept, new_place, none };
  // Renews the lease of the place, or takes a place. new_place: another place than before, without demand or turn.
  // none: all places are taken. Call before each use of the functions below, which REQUIRE that the result is not none.
  Renewed renew(TimePoint now);
  RailLoad load(TimePoint now, const TurnTimes& times = {}) const { return load_of(*memory_, now, times); }

  void add_arrived(std::uint64_t bytes) { mine().arrived_bytes.fetch_add(bytes, std::memory_order_relaxed); }
  void set_min_rtt(Nanos min_rtt);
  void set_rate(Rate rate);
  bool has_demand() const { return has_demand_; }
  void set_demand(bool demand) { mine().has_demand.store(has_demand_ = demand, std::memory_order_relaxed); }
  // Turns that the lane has had, in this place or in an earlier one.
  std::uint32_t turns() const { return turns_; }
  void set_turns(std::uint32_t turns) { mine().turns.store(turns_ = turns, std::memory_order_relaxed); }
  bool has_turn() const { return has_turn_; }
  void set_turn(bool has_turn) { mine().has_turn.store(has_turn_ = has_turn, std::memory_order_relaxed); }
  void use_turn(TimePoint now) { mine().turn_used_at.store(now.time_since_epoch().count(), std::memory_order_relaxed); }

 private:
  AccountMemory::Place& mine() const { return memory_->places[std::size_t(place_)]; }
  bool take(TimePoint now, Nanos unseen);
  void write_again();
  void leave();

  const std::shared_ptr<RailAccount> account_;
  AccountMemory* memory_ = nullptr;  // the memory of place_; account_ owns it
  int place_ = -1;                   // index in memory_; -1: none
  std::int64_t lease_ = 0;           // leased_until, as this lane wrote it last
  std::uint32_t turns_ = 0;          // copies of the place's values, likewise
  bool has_demand_ = false, has_turn_ = false;
};

}  // namespace railweave::engine
