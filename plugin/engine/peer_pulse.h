// Whether a peer that somebody waits for lives, and not only its kernel, which answers for a stopped process, too: one in a
// debugger, say. Its session answers KEEPs, whether its callers poll or not.
//
// Pure: the reactor's thread asks with what the session knows.
#pragma once

#include <cstdint>

#include "railweave/units.h"

namespace railweave::engine {

class PeerPulse {
 public:
  static constexpr Nanos kAskEvery = std::chrono::seconds(1);
  static constexpr Nanos kTellAfter = std::chrono::seconds(5);
  static constexpr Nanos kAwakeMost = std::chrono::seconds(2);  // between two looks; what is longer we slept ourselves

  // Zero: it may be stopped for ever.
  explicit PeerPulse(Nanos stall_timeout) : stall_timeout_(stall_timeout) {}

  enum class Verdict { fine, ask, stopped, back, gone };  // stopped, back: told once each
  // `consumed`: frames of the peer ever; `waits`: somebody does; `kernel_answers`: on a lane at least. Time in which it does not,
  // or in which nobody looked, does not count: a job that is suspended as a whole wakes up to peers that could not have answered.
  Verdict look(TimePoint now, std::uint64_t consumed, bool waits, bool kernel_answers);

 private:
  const Nanos stall_timeout_;
  std::uint64_t consumed_ = 0;
  TimePoint quiet_since_ = TimePoint::min();
  TimePoint asked_at_ = TimePoint::min();
  TimePoint looked_at_ = TimePoint::min();
  bool told_ = false;
};

}  // namespace railweave::engine
