#include "protocol/drain_time.h"

#include <utility>

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kDrainBytesMin = 32 * KiB;
constexpr std::uint64_t kLateBytes = 8 * KiB;  // a timer may hold back their acknowledgement
constexpr Nanos kLateMax = 2ms;                // acknowledgements wait behind what the peer sends (docs/decisions/0008)

}  // namespace

std::optional<DrainTime::Bound> DrainTime::observe(TimePoint now, std::uint64_t acknowledged_bytes, std::uint64_t outstanding_bytes, Nanos min_rtt) {
  if (bytes_ > 0 && acknowledged_bytes + kLateBytes < acknowledged_) {
    until_ = now;
    return {};
  }
  const std::uint64_t bytes = std::exchange(bytes_, outstanding_bytes >= kDrainBytesMin && min_rtt > 0ns ? outstanding_bytes : 0);
  const Nanos over = until_ - since_;
  acknowledged_ = acknowledged_bytes + outstanding_bytes;
  since_ = until_ = now;
  const Nanos queued = over - min_rtt - kLateMax;
  if (bytes == 0 || queued <= 0ns) return {};
  return Bound{Rate::of(double(bytes), queued), over};
}

}  // namespace railweave::protocol
