// Which lanes hold up the others so much that what they carry had better go another way (docs/operate/reliability.md,
// "How a lane ends"): a striper that counts on a rate cannot take back what it gave before the rail slowed.
//
// A peer that does not read makes any lane look slow, and idle ones fast. So a suspected lane is recalled only after
// the peer was asked by another one, and answered without a pause, for kSure. Pure: time and reports come in.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "railweave/units.h"
#include "wire/wire.h"

namespace railweave::engine {

// How long what a lane holds will take at its present pace.
class DrainRate {
 public:
  // As often as lanes are looked at.
  void poll(TimePoint now, const wire::LaneHealth& health);
  // None: idle, or not watched for long enough. Nanos::max(): nothing moves.
  std::optional<Nanos> left() const { return left_; }

 private:
  static constexpr Nanos kWindow = std::chrono::milliseconds(300);

  TimePoint since_ = TimePoint::min();  // of the running window; min: idle
  std::uint64_t acknowledged_ = 0;      // when it began
  std::optional<Nanos> left_;
};

// What one open lane holds, and how fast it drains.
struct LaneDrain {
  std::uint64_t outstanding_bytes = 0;
  std::uint64_t acknowledged_bytes = 0;  // ever
  std::optional<Nanos> left;             // none, too, where nobody waits for what it holds
  Rate believed;                         // that the striper counts on
  bool works = true;                     // is neither silent nor without a link
  Nanos late_for{0};                     // the peer's kernel owes an answer for so long, which is unusual there
};

class SlowLaneDetector {
 public:
  static constexpr Nanos kLeast = std::chrono::milliseconds(500);  // what takes less is waited for
  static constexpr int kTimes = 4;                                 // longer than the others would take
  static constexpr Nanos kSure = std::chrono::milliseconds(700);   // suspected for so long, and the peer answers
  // A lane that nobody answers is silence's to judge, or waits for one retransmission: it is not recalled before that
  // has had its time.
  static constexpr Nanos kLateMost = std::chrono::milliseconds(1200);
  static constexpr Nanos kAnswerMost = std::chrono::milliseconds(300);

  struct Verdict {
    std::vector<int> recalled;  // by place
    std::optional<int> asked;   // the lane by which the peer should be asked for an answer
  };
  // `lanes` by place; none: no open lane there. `consumed`: frames of the peer ever.
  Verdict poll(TimePoint now, const std::vector<std::optional<LaneDrain>>& lanes, std::uint64_t consumed);

 private:
  std::optional<TimePoint> answers_since_;  // without a pause, while a lane is suspected
  TimePoint answered_at_{};
  std::uint64_t consumed_ = 0;
};

}  // namespace railweave::engine
