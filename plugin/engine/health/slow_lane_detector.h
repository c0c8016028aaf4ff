// Finds lanes that delay the others so much that their data should go by other lanes (docs/operate/reliability.md, "How
// a lane ends"). The striper cannot take back what it gave to a lane before the rail slowed down.
//
// A peer that does not read makes a busy lane look slow, and an idle lane fast. A suspected lane is therefore given
// up only after the peer got heartbeat probes by another lane, and answered without a pause for kSure.
// Pure: the caller passes in the time and reports. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "railweave/units.h"
#include "wire/wire.h"

namespace railweave::engine {

// Data that one open lane holds, and how fast the lane drains.
struct LaneDrain {
  std::uint64_t outstanding_bytes = 0;
  std::uint64_t acknowledged_bytes = 0;  // bytes, ever
  std::optional<Nanos> left;             // as DrainRate::left(); none also where the lane holds padding alone
  Rate believed;                         // rate that the striper assumes
  bool works = true;                     // neither silent nor without a link
  Nanos late_for{0};                     // how long an answer of the peer's kernel has been late; 0: not late
};

class SlowLaneDetector {
 public:
  static constexpr Nanos kLeast = std::chrono::milliseconds(500);  // a lane that takes less time is not slow
  static constexpr int kTimes = 4;  // a slow lane takes this many times as long as the others would
  // how long a lane is suspected, while the peer answers
  static constexpr Nanos kSure = std::chrono::milliseconds(700);
  // A late lane may become silent, or wait for one retransmission. A late lane is not given up before this time.
  static constexpr Nanos kLateMost = std::chrono::milliseconds(1200);
  static constexpr Nanos kAnswerMost = std::chrono::milliseconds(300);  // a longer gap between answers is a pause

  struct Verdict {
    std::vector<int> given_up;      // indices into `lanes`
    std::optional<int> probe_lane;  // index of the lane by which to send a heartbeat probe; none: not needed
  };
  // `lanes[i]`: none: no open lane there. `consumed`: frames consumed from the peer, ever.
  Verdict observe(TimePoint now, const std::vector<std::optional<LaneDrain>>& lanes, std::uint64_t consumed);

 private:
  std::optional<TimePoint> answers_since_;  // since when the peer answers without a pause, while a lane is suspected
  TimePoint answered_at_{};
  std::uint64_t consumed_ = 0;
};

}  // namespace railweave::engine
