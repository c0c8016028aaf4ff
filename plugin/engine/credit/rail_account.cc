#include "engine/credit/rail_account.h"

#include <algorithm>

namespace railweave::engine {
namespace {

std::int64_t ns(TimePoint t) { return t.time_since_epoch().count(); }

int used_places(const AccountMemory& memory) {
  return std::clamp<int>(memory.used.load(std::memory_order_acquire), 0, AccountMemory::kPlaces);
}

// Returns when the owner of a place polled last, ns of CLOCK_MONOTONIC. A negative lease counts as 0, so that no sum of
// times overflows.
std::int64_t polled_at(std::int64_t leased_until) {
  return std::max<std::int64_t>(leased_until, 0) - RailAccount::kLease.count();
}

// Compares counts of turns, which wrap around.
bool is_less(std::uint32_t turns, std::uint32_t than) { return std::int32_t(turns - than) < 0; }

void add_turns(RailLoad& load, const AccountMemory::Place& place, std::int64_t now, std::int64_t seen,
               const TurnTimes& times) {
  const std::uint32_t turns = place.turns.load(std::memory_order_relaxed);
  const std::int64_t since = now - std::clamp<std::int64_t>(place.turn_used_at.load(std::memory_order_relaxed), 0, now);
  if (place.has_turn.load(std::memory_order_relaxed) != 0 && since <= times.unused.count()) {
    if (load.turns_held++ == 0 || is_less(load.most_turns, turns)) load.most_turns = turns;
    load.turns += since <= times.stalled.count();
  } else if (seen + RailAccount::kAbsent.count() >= now) {
    if (!load.any_waits || is_less(turns, load.fewest_turns)) load.fewest_turns = turns;
    load.any_waits = true;
  }
}

void add_rtt(RailLoad& load, const AccountMemory::Place& place) {
  const Nanos rtt = std::chrono::microseconds(place.min_rtt_us.load(std::memory_order_relaxed));
  if (rtt > Nanos{0} && (load.least_rtt == Nanos{0} || rtt < load.least_rtt)) load.least_rtt = rtt;
}

void add_rate(RailLoad& load, const AccountMemory::Place& place) {
  const Rate rate{1e3 * double(place.rate_kb_per_s.load(std::memory_order_relaxed))};
  if (rate > Rate{} && (load.least_rate == Rate{} || rate < load.least_rate)) load.least_rate = rate;
}

}  // namespace

void RailAccount::share(std::shared_ptr<AccountMemory> memory) {
  const ScopedLock lock(mutex_);
  kept_.push_back(memory);
  now_.store(memory.get(), std::memory_order_release);
}

RailLoad load_of(const AccountMemory& memory, TimePoint now, const TurnTimes& times) {
  const std::int64_t t = ns(now);
  RailLoad load;
  for (int i = 0, end = used_places(memory); i < end; ++i) {
    const AccountMemory::Place& place = memory.places[std::size_t(i)];
    load.arrived_bytes += place.arrived_bytes.load(std::memory_order_relaxed);
    const std::int64_t leased = place.leased_until.load(std::memory_order_relaxed), seen = polled_at(leased);
    // Skips a place that is free, was leased by another clock, or belongs to a process that is gone.
    if (leased == 0 || seen > t + RailAccount::kLease.count() || seen < t - RailAccount::kRemembered.count()) continue;
    ++load.lanes;
    add_rtt(load, place);
    if (seen + RailAccount::kLease.count() < t || place.has_demand.load(std::memory_order_relaxed) == 0) continue;
    ++load.demanding;
    add_rate(load, place);
    add_turns(load, place, t, seen, times);
  }
  return load;
}

// The place is still this owner's if it has the lease that this owner wrote last.
AccountPlace::Renewed AccountPlace::renew(TimePoint now) {
  const std::int64_t until = ns(now + RailAccount::kLease);
  std::int64_t written = lease_;
  if (memory_ == &account_->memory() && place_ >= 0 && mine().leased_until.compare_exchange_strong(written, until)) {
    lease_ = until;
    write_again();
    return Renewed::kept;
  }
  leave();
  memory_ = &account_->memory();
  return take(now, RailAccount::kRemembered) || take(now, RailAccount::kLease) ? Renewed::new_place : Renewed::none;
}

// Takes the first place that is free, or whose owner did not poll for `unseen`. False: there is none.
bool AccountPlace::take(TimePoint now, Nanos unseen) {
  const std::int64_t until = ns(now + RailAccount::kLease);
  for (int i = 0; i < AccountMemory::kPlaces; ++i) {
    AccountMemory::Place& place = memory_->places[std::size_t(i)];
    std::int64_t leased = place.leased_until.load(std::memory_order_relaxed);
    const bool is_free = leased == 0 || leased > until + RailAccount::kLease.count();  // too late: of another clock
    if (!is_free && polled_at(leased) > ns(now - unseen)) continue;
    if (!place.leased_until.compare_exchange_strong(leased, until)) continue;
    place_ = i;
    lease_ = until;
    set_min_rtt({});
    set_rate({});
    write_again();
    return true;
  }
  return false;
}

// Writes all values of the place, and the count of used places: another process may have overwritten them.
void AccountPlace::write_again() {
  set_demand(has_demand_);
  set_turn(has_turn_);
  set_turns(turns_);
  std::int32_t used = memory_->used.load(std::memory_order_relaxed);
  while (used <= place_ && !memory_->used.compare_exchange_weak(used, place_ + 1)) {
  }
}

void AccountPlace::set_min_rtt(Nanos min_rtt) {
  const auto us = std::chrono::ceil<std::chrono::microseconds>(min_rtt).count();
  mine().min_rtt_us.store(std::uint32_t(std::clamp<std::int64_t>(us, 0, UINT32_MAX)), std::memory_order_relaxed);
}

void AccountPlace::set_rate(Rate rate) {
  mine().rate_kb_per_s.store(std::uint32_t(std::clamp(rate.bytes_per_s / 1e3, 0.0, double(UINT32_MAX))),
                             std::memory_order_relaxed);
}

void AccountPlace::leave() {
  std::int64_t written = lease_;
  if (place_ >= 0) mine().leased_until.compare_exchange_strong(written, 0);
  place_ = -1;
  has_demand_ = has_turn_ = false;
}

}  // namespace railweave::engine
