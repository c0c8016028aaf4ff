// Late binding and earliest completion (decision D3): how much a lane may hold, how large its next segment is, and
// whether it should take that segment at all or leave it to the others. Pure functions of what the lanes report.
#pragma once

#include <cstdint>

#include "protocol/credit_window.h"
#include "railweave/units.h"

namespace railweave::protocol {

// What the striper knows of one lane.
struct LaneView {
  bool rate_known = false;
  Rate rate;
  Nanos min_rtt{0};
  std::uint64_t outstanding_bytes = 0;         // written or taken, not yet acknowledged
  bool holds_less = false;                     // urgent streams of this end wait for whatever it holds
  std::uint64_t window_bytes = Credit::kNone;  // that the receiver allows to be outstanding
};

constexpr std::uint32_t kSegmentBytesMin = 16 * KiB;

// The other lanes that could carry a segment instead: their sum, and the first of them that would have delivered
// `least_bytes`, the smallest that anyone would take: kSegmentBytesMin, or all there is.
struct OthersView {
  std::uint32_t least_bytes = kSegmentBytesMin;
  bool any = false;
  Rate rate;
  std::uint64_t outstanding_bytes = 0;
  Nanos soonest = Nanos::max();

  void add(const LaneView& lane);
};

// Most bytes worth having outstanding on the lane, within its window; 1 GiB whatever was measured of it.
std::uint64_t outstanding_bytes_max(const LaneView& lane);
// The window, and nothing that was measured, sets that bound.
bool is_bound_by_window(const LaneView& lane);

// Enough of that has drained for one system call to carry much.
bool worth_refilling(const LaneView& lane);

// How long a lane that is not worth refilling needs no look: half of what it takes to become so at its rate, 1 ms at
// most (its rate may have risen since). Zero for one that is.
Nanos pause_before_poll(const LaneView& lane);

// Segment for this lane: a multiple of 128 within [kSegmentBytesMin, 256 KiB], about what it carries in half a
// millisecond; in 0.2 ms where it holds less. Of a window that is less than two such segments: half of the window, 4
// KiB at least.
std::uint32_t segment_bytes(const LaneView& lane);

// The same, but of the last `waiting_bytes` (what is posted and not yet on any lane) no more than lets this lane end
// together with the others: a message of one segment would else go by one lane, and the others end early.
std::uint32_t segment_bytes(const LaneView& lane, const OthersView& others, std::uint64_t waiting_bytes);

// True when `lane` would have delivered the segment before the others could have carried all `waiting_bytes` (it
// included), or the least one before any of them. Of all lanes that could carry it one always answers true.
bool finishes_in_time(const LaneView& lane, const OthersView& others, std::uint32_t segment,
                      std::uint64_t waiting_bytes);

}  // namespace railweave::protocol
