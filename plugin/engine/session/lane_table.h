// The places of a session's lanes. A place is made when no other is free, and used again once its lane has ended.
// Places are never removed or moved.
//
// Threads: one thread at a time adds lanes (the reactor's); all else is for any thread, unless a call says otherwise. A
// call that covers several lanes claims one after the other, and waits for each (LaneDriver::claim()). Counters of
// lanes are read without a claim.
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
  // `protocol` and `arrivals` are the session's, and outlive the table.
  LaneTable(SharedProtocol& protocol, ArrivalFlags& arrivals, const LaneOptions& options)
      : protocol_(protocol), arrivals_(arrivals), options_(options) {}

  // The number of places, those of closed lanes included.
  int count() const { return count_.load(std::memory_order_acquire); }
  // REQUIRES: place < count(), or find_free() just returned `place`.
  LaneDriver& at(int place) const {
    assert(place >= 0 && place < kPlacesMax && places_[std::size_t(place)]);
    return *places_[std::size_t(place)];
  }

  // --- on the thread that adds lanes
  // Returns a place for a lane: that of a lane that has ended, or count(), which other threads see only after
  // publish(). -1: none is left (kPlacesMax).
  int find_free();
  void publish(int place);

  // --- without a claim
  // Returns the pair of rails of each open lane. On the thread that adds lanes.
  std::vector<RailPair> rails_of_lanes() const;
  struct OpenLane {
    protocol::LaneId id = 0;
    RailPair rails;
    std::string wire;  // Wire::name()
  };
  // Returns each open lane. On the thread that adds lanes.
  std::vector<OpenLane> open_lanes() const;
  // True: there are open lanes, and each is blocked, those that other threads hold included. A lane that is not blocked
  // may still write acks.
  bool every_lane_is_blocked() const;
  // Some lane is ending: poll again soon.
  bool any_is_ending() const;
  // Returns the open lane that `lane` names; null: the lane is over. Only the claim's holder knows that the answer
  // stays true.
  LaneDriver* find(const LaneRef& lane) const;

  // --- these claim each lane in turn
  // Calls act(driver) for each place, also where no lane is open.
  template <class Act>
  void each_claimed(Act&& act) const;
  // Calls act(driver) with the open lane `id`; does nothing if that lane is over.
  template <class Act>
  void with_lane(protocol::LaneId id, Act&& act) const;
  // Calls act(driver) with the lane that `lane` names; does nothing if that lane is over.
  template <class Act>
  void with_lane(const LaneRef& lane, Act&& act) const;
  std::uint64_t outstanding_bytes() const;  // of all lanes, not acknowledged by the peer's kernel
  std::string rail_names() const;           // our rails with an open lane: "eth0, eth1"
  void close() const;

  // --- counters of lanes. Any thread: no claim, no session's mutex, no system call
  // `metrics` are those of the lane that takes `place`. Adds the counters of the place's last lane to the sums by rail.
  void count_by(int place, std::shared_ptr<const wire::LaneMetrics> metrics);
  // Returns one entry for each place, then one for each rail: the sums over lanes whose places were taken again.
  std::vector<LaneStats> stats() const;

 private:
  SharedProtocol& protocol_;
  ArrivalFlags& arrivals_;
  const LaneOptions options_;
  std::array<std::unique_ptr<LaneDriver>, kPlacesMax> places_;
  std::atomic<int> count_{0};
  mutable Mutex metrics_mutex_;  // no other mutex is taken inside it
  std::vector<std::shared_ptr<const wire::LaneMetrics>> metrics_ RW_GUARDED_BY(metrics_mutex_);  // by place
  std::vector<LaneStats> gone_ RW_GUARDED_BY(metrics_mutex_);                                    // the sums by rail

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
