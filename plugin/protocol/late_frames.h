// LateFrames: the frames of one lane that the peer's kernel has not acknowledged in time (decision D8). There is no
// time per frame. Each reading notes how many frames the lane had taken: these frames are at least as old as the
// reading. A reading that comes late finds fewer frames late, never more. The frames of a lane are in order, so the
// late ones are a range of numbers.
//
// Pure: time comes in as an argument. Threads: one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "railweave/units.h"

namespace railweave::protocol {

class LateFrames {
 public:
  static constexpr int kRoundTrips = 4;  // smoothed round trips after which a frame is late, within kLeast and kMost
  // a kernel may hold back a lone acknowledgement for 40 ms
  static constexpr Nanos kLeast = std::chrono::milliseconds(60);
  // a connection made in an outage measured the outage as its round trip
  static constexpr Nanos kMost = std::chrono::seconds(1);

  // The lane took `taken` frames ever, and the peer's kernel acknowledged the first `acknowledged` of them. `before`: a
  // time before the kernel was asked. `now`: a time after the lane's frames were counted. The thread may lose its core
  // in between. `smoothed_rtt`: 0 if not known.
  void observe(TimePoint before, TimePoint now, std::uint64_t taken, std::uint64_t acknowledged, Nanos smoothed_rtt);
  // Some frame was late at the last observe().
  bool any() const { return acknowledged_ < late_end_; }

  struct Range {
    std::uint64_t first = 0, end = 0;  // empty when equal
  };
  // Returns the numbers of late frames that no earlier call returned.
  Range take_new();

 private:
  static constexpr std::size_t kReadingsMax = 32;
  static constexpr int kReadingsInPatience = 16;  // kept in the time after which a frame is late; more add nothing

  struct Reading {
    TimePoint at;
    std::uint64_t taken;
  };
  Reading& at(std::size_t index) { return readings_[(oldest_ + index) % kReadingsMax]; }

  std::array<Reading, kReadingsMax> readings_{};  // a ring; at most one is older than the time limit
  std::size_t oldest_ = 0, count_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t late_end_ = 0;   // frames below this number are late, unless acknowledged
  std::uint64_t given_end_ = 0;  // take_new() has returned the frames below this number
};

}  // namespace railweave::protocol
