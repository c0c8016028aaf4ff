#include "engine/health/peer_heartbeat.h"

#include <utility>

namespace railweave::engine {

PeerHeartbeat::Verdict PeerHeartbeat::observe(TimePoint now, std::uint64_t consumed, bool waits, bool could_answer) {
  const bool heard = std::exchange(consumed_, consumed) != consumed;
  const TimePoint observed_at = std::exchange(observed_at_, now);
  if (heard || !waits || quiet_since_ == TimePoint::min()) {
    quiet_since_ = probed_at_ = now;
    return std::exchange(reported_, reported_ && !heard) && heard ? Verdict::back : Verdict::fine;
  }
  if (const Nanos since = now - observed_at; !could_answer || since > kAwakeMost) quiet_since_ += since;
  if (!could_answer) return Verdict::fine;
  const Nanos quiet = now - quiet_since_;
  if (stall_timeout_ > Nanos{0} && quiet >= stall_timeout_) return Verdict::gone;
  if (quiet >= kStoppedAfter && !std::exchange(reported_, true)) return Verdict::stopped;
  if (now - probed_at_ < kProbeEvery) return Verdict::fine;
  probed_at_ = now;
  return Verdict::probe_due;
}

}  // namespace railweave::engine
