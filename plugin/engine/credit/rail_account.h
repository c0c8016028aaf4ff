// What all lanes that receive by one rail of this host have in common (docs/internals/credit_windows.md, "The
// account"): a place for each lane, written by the lane's process only and read by all. Other processes of the user may
// share the memory (credit/shared_account.h). So every value that is read is clamped, no lane waits for another longer
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

// Lock-free atomics only: the layout is the same in all processes that run the same build, and kVersion names it.
struct AccountMemory {
  static constexpr std::uint32_t kVersion = 2;
  static constexpr int kPlaces = 1024;

  struct alignas(64) Place {
    // nanoseconds of CLOCK_MONOTONIC; 0: free; in the past: the place's owner is idle, stopped or gone
    std::atomic<std::int64_t> leased_until{0};
    std::atomic<std::uint64_t> arrived_bytes{0};  // ever, of all owners of the place
    std::atomic<std::int64_t> turn_used_at{0};    // when the turn began, or something of it came last
    std::atomic<std::uint32_t> turns{0};          // that its owners had; wraps around
    std::atomic<std::uint32_t> min_rtt_us{0};     // of the lane; 0: not known
    std::atomic<std::uint32_t> rate_kb_per_s{0};  // of the rail, as the lane measured it (ArrivalRate); 0: not known
    std::atomic<std::uint8_t> has_demand{0};      // more waits to be sent by the lane
    std::atomic<std::uint8_t> has_turn{0};
  };

  std::atomic<std::int32_t> used{0};  // places at and above were never taken
  std::array<Place, kPlaces> places;
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<std::uint8_t>::is_always_lock_free);

// How long a turn may stand still. A turn's bytes may wait in the rail's whole queue, so both times follow the length
// of that queue (turn_times()).
struct TurnTimes {
  // a turn of which nothing came for so long keeps nobody else waiting ...
  Nanos stalled = std::chrono::milliseconds(1);
  Nanos unused = std::chrono::milliseconds(4);  // ... and after so long is over
};

// All lanes together.
struct RailLoad {
  // that are here, idle ones included, and those of a process that ended, for kRemembered
  int lanes = 0;
  int demanding = 0;                // of these, that have more to send
  int turns = 0;                    // of these, that have a turn and use it
  int turns_held = 0;               // likewise, used or not
  bool any_waits = false;           // some have none, and would take one
  std::uint32_t fewest_turns = 0;   // the least count of turns of a lane that waits
  std::uint32_t most_turns = 0;     // the greatest count of turns of a lane that has one
  std::uint64_t arrived_bytes = 0;  // ever
  Nanos least_rtt{0};               // the shortest round trip of a lane that is here; 0: none is known
  Rate least_rate{};                // of the rail, as the demanding lane measured it that found the least; 0: none did
};

class RailAccount {
 public:
  // of a place, from its owner's last look: processes wait for a core so long at times
  static constexpr Nanos kLease = std::chrono::milliseconds(500);
  static constexpr Nanos kPollMost = std::chrono::milliseconds(100);  // between looks of a lane with demand
  static constexpr Nanos kRemembered = std::chrono::seconds(60);      // an owner that does not look for so long is gone
  // a lane that waits for a turn and does not look for so long keeps no other waiting
  static constexpr Nanos kAbsent = std::chrono::milliseconds(3);

  // The account is of this process alone, until share().
  RailAccount() : RailAccount(std::make_shared<AccountMemory>()) {}
  explicit RailAccount(std::shared_ptr<AccountMemory> memory) { share(std::move(memory)); }

  // Goes on in `memory`. A lane that has a place in the memory before takes a place in `memory` at its next look.
  void share(std::shared_ptr<AccountMemory> memory);
  AccountMemory& memory() const { return *now_.load(std::memory_order_acquire); }

 private:
  std::atomic<AccountMemory*> now_{nullptr};
  Mutex mutex_;
  std::vector<std::shared_ptr<AccountMemory>> kept_ RW_GUARDED_BY(mutex_);  // places in older ones may be in use
};

RailLoad load_of(const AccountMemory& memory, TimePoint now, const TurnTimes& times = {});

// One lane's place. Under the lane's claim.
class AccountPlace {
 public:
  explicit AccountPlace(std::shared_ptr<RailAccount> account) : account_(std::move(account)) {}
  ~AccountPlace() { leave(); }
  AccountPlace(const AccountPlace&) = delete;
  AccountPlace& operator=(const AccountPlace&) = delete;

  enum class Renewed { kept, new_place, none };
  // To be called before anything below, each time. new_place: it is not the one before, and says that there is neither
  // demand nor a turn; none: all are taken.
  Renewed renew(TimePoint now);
  RailLoad load(TimePoint now, const TurnTimes& times = {}) const { return load_of(*memory_, now, times); }

  void add_arrived(std::uint64_t bytes) { mine().arrived_bytes.fetch_add(bytes, std::memory_order_relaxed); }
  void set_min_rtt(Nanos min_rtt);
  void set_rate(Rate rate);
  bool has_demand() const { return has_demand_; }
  void set_demand(bool demand) { mine().has_demand.store(has_demand_ = demand, std::memory_order_relaxed); }
  // Turns that the lane had, in this place or in an earlier one.
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
  AccountMemory* memory_ = nullptr;  // where place_ is; account_ keeps it
  int place_ = -1;
  std::int64_t lease_ = 0;  // as it was written there last; so are all below
  std::uint32_t turns_ = 0;
  bool has_demand_ = false, has_turn_ = false;
};

}  // namespace railweave::engine
