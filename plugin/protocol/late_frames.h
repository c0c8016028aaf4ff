// Which frames of one lane the peer's kernel has not acknowledged in time (decision D8). Nobody keeps the time of each
// frame. Looks do: at each look the lane had taken so many frames, so these are at least as old as that look. A look
// that comes late finds fewer frames late, never more. Frames of a lane are in order, so the late ones are a range of
// numbers.
//
// Pure: time comes in as an argument. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "railweave/units.h"

namespace railweave::protocol {

class LateFrames {
 public:
  static constexpr int kRoundTrips = 4;
  // a kernel may hold back a lone acknowledgement for 40 ms
  static constexpr Nanos kLeast = std::chrono::milliseconds(60);
  // a connection that was made in an outage took the outage for a round trip
  static constexpr Nanos kMost = std::chrono::seconds(1);

  // The lane took `taken` frames ever, and the peer's kernel acknowledged the first `acknowledged` of them. `before` is
  // a time before the kernel was asked, `now` one after the lane's frames were counted: a thread may be without its
  // core in between. `smoothed_rtt`: 0 if not known.
  void poll(TimePoint before, TimePoint now, std::uint64_t taken, std::uint64_t acknowledged, Nanos smoothed_rtt);
  // Some frame was late at the last look.
  bool any() const { return acknowledged_ < late_end_; }

  struct Range {
    std::uint64_t first = 0, end = 0;  // empty when equal
  };
  // The numbers of late frames that no call gave out before.
  Range take_new();

 private:
  static constexpr std::size_t kPollsMax = 32;
  static constexpr int kPollsInPatience = 16;  // more in that time add nothing

  struct Reading {
    TimePoint at;
    std::uint64_t taken;
  };
  Reading& at(std::size_t index) { return polls_[(oldest_ + index) % kPollsMax]; }

  std::array<Reading, kPollsMax> polls_{};  // a ring: one at most is older than what counts as late
  std::size_t oldest_ = 0, count_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t late_end_ = 0;   // frames below are late, if not acknowledged
  std::uint64_t given_end_ = 0;  // take_new() gave out what is below
};

}  // namespace railweave::protocol
