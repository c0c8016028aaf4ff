// Detects a peer process that is stopped, for example in a debugger, while its kernel still acknowledges. The session
// of a running peer answers KEEP frames, whether its callers poll or not.
//
// Pure: the caller passes in the time and what the session knows. Threads: the reactor's.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "railweave/units.h"

namespace railweave::engine {

class PeerHeartbeat {
 public:
  static constexpr Nanos kProbeEvery = std::chrono::seconds(1);
  static constexpr Nanos kStoppedAfter = std::chrono::seconds(5);
  // between two polls; this process did not run in a longer gap
  static constexpr Nanos kAwakeMost = std::chrono::seconds(2);

  // `stall_timeout`: how long a peer may be stopped; 0: without limit.
  explicit PeerHeartbeat(Nanos stall_timeout) : stall_timeout_(stall_timeout) {}

  enum class Verdict { fine, probe_due, stopped, back, gone };  // stopped, back: returned once for each stop
  // `consumed`: frames consumed from the peer, ever. `waits`: a caller needs the peer. `could_answer`: the peer's
  // kernel answers, and no probe is still on its way. Time in which the peer could not answer does not count, nor does
  // a gap of more than kAwakeMost between polls. After a whole job was suspended, none of its peers could have
  // answered.
  Verdict observe(TimePoint now, std::uint64_t consumed, bool waits, bool could_answer);
  // True: a frame was consumed since the last observe().
  bool has_answered(std::uint64_t consumed) const { return consumed != consumed_; }

 private:
  const Nanos stall_timeout_;
  std::uint64_t consumed_ = 0;
  TimePoint quiet_since_ = TimePoint::min();
  TimePoint probed_at_ = TimePoint::min();
  TimePoint observed_at_ = TimePoint::min();
  bool reported_ = false;
};

// Tracks one heartbeat probe that was sent by several lanes. Data queued before the probe may take minutes on a slow
// rail, and the peer cannot answer before the probe arrives. The kernel of a stopped peer takes what its buffers hold,
// and no more.
class HeartbeatProbe {
 public:
  static constexpr Nanos kMovesMost = std::chrono::seconds(1);

  struct Path {
    int place;                   // of the lane, in LaneTable
    std::uint16_t lane;          // the lane's number
    std::uint64_t arrives_at;    // acknowledged bytes from which on the peer has the probe
    std::uint64_t acknowledged;  // bytes, as of the last observe()
  };
  // True: a probe is under way, or with the peer. Later probes are not tracked: the oldest one counts.
  bool is_unanswered() const { return arrived_ || !ways_.empty(); }
  void goes_by(const Path& way) { ways_.push_back(way); }
  void answered() { *this = {}; }
  // `acknowledged(way)` returns the acknowledged bytes of the lane; none: the lane is lost.
  template <class Acknowledged>
  void observe(TimePoint now, Acknowledged acknowledged);
  // True: the probe is under way, and one of its lanes moved bytes within the last kMovesMost.
  bool travels(TimePoint now) const { return !ways_.empty() && now - moved_at_ < kMovesMost; }

 private:
  std::vector<Path> ways_;
  TimePoint moved_at_{};
  bool arrived_ = false;
};

template <class Acknowledged>
void HeartbeatProbe::observe(TimePoint now, Acknowledged acknowledged) {
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
