// Whether a peer that somebody waits for lives, and not only its kernel, which answers for a stopped process, too: one
// in a debugger, say. Its session answers KEEPs, whether its callers poll or not.
//
// Pure: the reactor's thread asks with what the session knows.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "railweave/units.h"

namespace railweave::engine {

class PeerHeartbeat {
 public:
  static constexpr Nanos kAskEvery = std::chrono::seconds(1);
  static constexpr Nanos kTellAfter = std::chrono::seconds(5);
  static constexpr Nanos kAwakeMost = std::chrono::seconds(2);  // between two looks; what is longer we slept ourselves

  // Zero: it may be stopped for ever.
  explicit PeerHeartbeat(Nanos stall_timeout) : stall_timeout_(stall_timeout) {}

  enum class Verdict { fine, ask, stopped, back, gone };  // stopped, back: told once each
  // `consumed`: frames of the peer ever; `waits`: somebody does; `could_answer`: its kernel does, and the question is
  // not on its way. Time in which it could not, or in which nobody looked, does not count: a job that is suspended as a
  // whole wakes up to peers that could not have answered.
  Verdict poll(TimePoint now, std::uint64_t consumed, bool waits, bool could_answer);
  // Something came since the last look.
  bool hears(std::uint64_t consumed) const { return consumed != consumed_; }

 private:
  const Nanos stall_timeout_;
  std::uint64_t consumed_ = 0;
  TimePoint quiet_since_ = TimePoint::min();
  TimePoint asked_at_ = TimePoint::min();
  TimePoint looked_at_ = TimePoint::min();
  bool reported_ = false;
};

// Where a question is that went by several lanes. What was on them before it may take a slow rail minutes: until then
// the peer cannot have answered. Of one that is stopped the kernel takes what its buffers hold, and no more.
class HeartbeatProbe {
 public:
  static constexpr Nanos kMovesMost = std::chrono::seconds(1);

  struct Path {
    int place;  // of the lane, and its number
    std::uint16_t lane;
    std::uint64_t arrives_at;  // once so many bytes are acknowledged
    std::uint64_t acknowledged;
  };
  // One that is with the peer already, or under way, is not asked again: it is the oldest that counts.
  bool is_asked() const { return arrived_ || !ways_.empty(); }
  void goes_by(const Path& way) { ways_.push_back(way); }
  void answered() { *this = {}; }
  // `acknowledged(way)`: of the lane; none: it is lost.
  template <class Acknowledged>
  void poll(TimePoint now, Acknowledged acknowledged);
  // It moves, and is not there yet.
  bool travels(TimePoint now) const { return !ways_.empty() && now - moved_at_ < kMovesMost; }

 private:
  std::vector<Path> ways_;
  TimePoint moved_at_{};
  bool arrived_ = false;
};

template <class Acknowledged>
void HeartbeatProbe::poll(TimePoint now, Acknowledged acknowledged) {
  std::erase_if(ways_, [&](Path& way) {
    const std::optional<std::uint64_t> there = acknowledged(way);
    if (!there) return true;
    arrived_ = arrived_ || *there >= way.arrives_at;
    if (std::exchange(way.acknowledged, *there) != *there) moved_at_ = now;
    return false;
  });
  if (arrived_) ways_.clear();
}

}  // namespace railweave::engine
