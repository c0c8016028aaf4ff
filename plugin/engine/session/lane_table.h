// The places of a session's lanes. A place is made when no other is free, used again once its lane has ended, and never
// goes or moves.
//
// Threads: one thread at a time makes lanes (the reactor's); all else is for any thread. Whatever looks at several
// lanes claims one after the other, and waits for each (LaneDriver::claim()). What lanes count is read without a claim.
#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/reconcile/lane_plan.h"
#include "engine/session/arrival_flags.h"
#include "engine/session/lane_driver.h"
#include "engine/session/lane_ref.h"
#include "engine/session/shared_protocol.h"
#include "railweave/stats.h"

namespace railweave::engine {

class LaneTable {
 public:
  // `protocol` and `arrivals` are the session's, and outlive it.
  LaneTable(SharedProtocol& protocol, ArrivalFlags& arrivals, const LaneOptions& options)
      : protocol_(protocol), arrivals_(arrivals), options_(options) {}

  // Places, of closed lanes, too.
  int count() const { return count_.load(std::memory_order_acquire); }
  // REQUIRES: place < count(), or find_free() just answered it.
  LaneDriver& at(int place) const {
    assert(place >= 0 && place < kPlacesMax && places_[std::size_t(place)]);
    return *places_[std::size_t(place)];
  }

  // --- on the thread that makes lanes
  // A place for a lane: that of one that has ended, or count(), which others see after publish() only. -1: none is
  // left.
  int find_free();
  void publish(int place);

  // --- without a claim
  // The pair of rails of each open lane.
  std::vector<RailPair> rails_of_lanes() const;
  // Every open lane is blocked, also the lanes in other hands: an ack may still go by a lane that is not blocked.
  bool every_lane_is_blocked() const;
  // Some lane is ending: it should be looked at again soon.
  bool any_is_ending() const;
  // The open lane there, if it is that one still; else null. Only its claim's holder knows that it stays so.
  LaneDriver* find(const LaneRef& lane) const;

  // --- these claim each lane in turn
  // act(lane).
  template <class Act>
  void each_claimed(Act&& act) const;
  // act(lane) with the open lane of that number; nothing where there is none: it is over, or another has its place.
  template <class Act>
  void with_lane(protocol::LaneId id, Act&& act) const;
  // act(lane) with the lane that was seen, unless its place has a newer generation by now.
  template <class Act>
  void with_lane(const LaneRef& lane, Act&& act) const;
  std::uint64_t outstanding_bytes() const;  // unacknowledged by the peer's kernel
  std::string rail_names() const;           // of open lanes: "eth0, eth1"
  void close() const;

  // --- what lanes count, for any thread: no claim, no session's mutex, no system call
  // Whose lane is about to take `place`, or takes it. What the lane before counted is added up.
  void count_by(int place, std::shared_ptr<const wire::LaneMetrics> metrics);
  // By place; then lanes whose places others have, summed by rail.
  std::vector<LaneStats> stats() const;

 private:
  SharedProtocol& protocol_;
  ArrivalFlags& arrivals_;
  const LaneOptions options_;
  std::array<std::unique_ptr<LaneDriver>, kPlacesMax> places_;
  std::atomic<int> count_{0};
  mutable Mutex metrics_mutex_;  // no other is taken under it
  std::vector<std::shared_ptr<const wire::LaneMetrics>> metrics_ RW_GUARDED_BY(metrics_mutex_);  // by place
  std::vector<LaneStats> gone_ RW_GUARDED_BY(metrics_mutex_);

  void remember(const LaneStats& gone) RW_REQUIRES(metrics_mutex_);
};

template <class Act>
void LaneTable::each_claimed(Act&& act) const {
  for (int i = 0; i < count(); ++i) {
    LaneDriver& driver = at(i);
    const LaneDriver::Claim claim(driver);
    act(driver);
  }
}

template <class Act>
void LaneTable::with_lane(protocol::LaneId id, Act&& act) const {
  for (int i = 0; i < count(); ++i) {
    if (at(i).id() != id) continue;
    LaneDriver& driver = at(i);
    const LaneDriver::Claim claim(driver);
    if (driver.id() == id && driver.is_open()) act(driver);
  }
}

template <class Act>
void LaneTable::with_lane(const LaneRef& lane, Act&& act) const {
  LaneDriver& driver = at(lane.place);
  const LaneDriver::Claim claim(driver);
  if (find(lane)) act(driver);
}

}  // namespace railweave::engine
