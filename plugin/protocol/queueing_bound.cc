#include "protocol/queueing_bound.h"

#include "protocol/striper.h"

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

// Any full lane has two segments and their headers, whatever its estimate. A lower estimate would change nothing.
constexpr std::uint64_t kFullBytesMin = 3 * kSegmentBytesMin;
constexpr std::uint64_t kHeldBytesMin = kSegmentBytesMin / 2;
constexpr Nanos kLateMax = 2ms;  // acknowledgements wait behind the peer's data (docs/decisions/0008)
// Linux holds an acknowledgement back for 40 ms, and longer only where it had to before
constexpr Nanos kHeldBackMax = 60ms;

}  // namespace

std::optional<QueueingBound::Limit> QueueingBound::observe(TimePoint now, std::uint64_t acknowledged_bytes,
                                                           std::uint64_t outstanding_bytes, bool full, Nanos min_rtt) {
  if (bytes_ > 0 && acknowledged_bytes < acknowledged_enough_) {
    until_ = now;
    return {};
  }
  const std::uint64_t held = bytes_;
  const Nanos over = until_ - since_, queued = over - min_rtt - late_;
  bytes_ = outstanding_bytes >= kHeldBytesMin && min_rtt > 0ns ? outstanding_bytes : 0;
  late_ = full && outstanding_bytes >= kFullBytesMin ? kLateMax : kHeldBackMax;
  // the acknowledgement of the last quarter may wait for a timer
  acknowledged_enough_ = acknowledged_bytes + bytes_ - bytes_ / 4;
  since_ = until_ = now;
  if (held == 0 || queued <= 0ns) return {};
  return Limit{Rate::of(double(held), queued), over};
}

}  // namespace railweave::protocol
