// Striper: late binding and earliest completion (decision D3). Computes how much a lane may hold, how large its next
// segment is, and whether the other lanes should carry that segment instead. Pure functions of lane reports.
#pragma once

#include <cstdint>

#include "protocol/credit_window.h"
#include "railweave/units.h"

namespace railweave::protocol {

// One lane, as the striper sees it.
struct LaneView {
  bool rate_known = false;
  Rate rate;
  Nanos min_rtt{0};
  std::uint64_t outstanding_bytes = 0;         // bytes taken by the lane, not yet acknowledged
  bool holds_less = false;                     // this end has urgent streams, which wait for all that the lane holds
  std::uint64_t window_bytes = Credit::kNone;  // bytes that the receiver allows to be outstanding
};

constexpr std::uint32_t kSegmentBytesMin = 16 * KiB;

// The other lanes that could carry a segment instead: sums of their rates and bytes. `least_bytes`: the smallest
// segment, which is kSegmentBytesMin or all that waits. `soonest`: time until the first of them would have delivered
// `least_bytes`.
struct OthersView {
  std::uint32_t least_bytes = kSegmentBytesMin;
  bool any = false;
  Rate rate;
  std::uint64_t outstanding_bytes = 0;
  Nanos soonest = Nanos::max();

  void add(const LaneView& lane);
};

// Most bytes worth having outstanding on the lane, within its window. At most 1 GiB, whatever was measured.
std::uint64_t outstanding_bytes_max(const LaneView& lane);
// The receiver's window sets that bound, not a measurement.
bool is_bound_by_window(const LaneView& lane);

// Enough of the outstanding bytes has drained for one system call to carry much.
bool worth_refilling(const LaneView& lane);

// Time for which a lane that is not worth refilling needs no poll. Half of the time until it is worth refilling at its
// rate, and at most 1 ms, as its rate may have risen. Zero if it is worth refilling now.
Nanos pause_before_poll(const LaneView& lane);

// Bytes of the next segment for this lane: a multiple of 128 within [kSegmentBytesMin, 256 KiB]. The lane carries about
// so much in 0.5 ms, or in 0.2 ms where it holds less. If the window is less than two such segments: half of the
// window, 4 KiB at least.
std::uint32_t segment_bytes(const LaneView& lane);

// The same, but smaller at the end of `waiting_bytes` (posted and not yet on any lane), so that this lane ends together
// with the others. Otherwise a message of one segment would go by one lane, and the others would end early.
std::uint32_t segment_bytes(const LaneView& lane, const OthersView& others, std::uint64_t waiting_bytes);

// True if `lane` would deliver the segment before the others could carry all `waiting_bytes`, this segment included.
// Also true if `lane` would deliver the smallest segment before any other lane. Of all lanes that could carry the
// segment, one always returns true.
bool finishes_in_time(const LaneView& lane, const OthersView& others, std::uint32_t segment,
                      std::uint64_t waiting_bytes);

}  // namespace railweave::protocol
