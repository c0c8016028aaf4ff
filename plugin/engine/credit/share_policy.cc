#include "engine/credit/share_policy.h"

#include <algorithm>

namespace railweave::engine {
namespace {

// Idle windows together: kIdleQueues times the target, and kIdleBufferLeast at least.
constexpr std::uint64_t kIdleBufferLeast = 128 * KiB;
constexpr double kIdleQueues = 2;
constexpr std::uint64_t kIdleLeast = 4 * KiB, kIdleMost = 64 * KiB;
constexpr double kWindowMost = 1ULL << 60;  // a rate in a forged account must not overflow an integer
constexpr std::uint64_t kTurnUnit = 4 * KiB;
constexpr Nanos kQueueTimeMost = std::chrono::milliseconds(10);  // bound where a rate is hardly known yet

// Returns the round trip without queues. A lane that came while others filled the queue never saw the path without this
// queue, so the lane's shortest round trip includes the queue. A difference to the shortest round trip of all lanes
// counts as distance only as far as our own queues cannot explain the difference.
Nanos distance(const RailLoad& load, Rate rate, Nanos min_rtt) {
  if (load.least_rtt == Nanos{0} || min_rtt <= load.least_rtt) return min_rtt;
  const Nanos queues(std::int64_t(kQueuesMost * double((load.least_rtt + kQueueTime).count())));
  const Nanos longest = std::max(queues, rate.time_for(double(kBufferLeast)));
  return load.least_rtt + std::max(Nanos{0}, min_rtt - load.least_rtt - longest);
}

// Bytes that senders with turns may have under way together.
double most_under_way(double target) { return std::max(kQueuesMost * target, double(kBufferLeast)); }

// The bytes of a round divided by the senders, in multiples of kTurnUnit, from kShareLeast to kTurnMost.
std::uint64_t turn_bytes(int senders, Rate rate) {
  const double even = std::min(rate.bytes_in(kRound) / senders, double(kTurnMost));
  return std::max(kShareLeast, std::uint64_t(even) / kTurnUnit * kTurnUnit);
}

}  // namespace

Share share_of_demand(const RailLoad& load, Rate rate, Nanos min_rtt) {
  if (load.demanding <= 1) return {};
  const double target = rate.bytes_in(distance(load, rate, min_rtt) + kQueueTime);
  const double even = target / load.demanding;
  if (even >= double(kShareLeast)) return {.window_bytes = std::uint64_t(std::min(even, kWindowMost))};
  const double most = most_under_way(target) / double(kShareLeast);  // windows
  if (double(load.demanding) <= most) return {.window_bytes = kShareLeast};
  return {.window_bytes = kShareLeast, .turns = int(most), .turn_bytes = turn_bytes(load.demanding, rate)};
}

TurnTimes turn_times(const RailLoad& load, Rate rate) {
  const Nanos queue =
      std::min(rate.time_for(most_under_way(rate.bytes_in(load.least_rtt + kQueueTime))), kQueueTimeMost);
  const Nanos stalled = std::max(TurnTimes().stalled, 2 * queue);
  return {.stalled = stalled, .unused = std::max(TurnTimes().unused, 2 * stalled)};
}

std::uint64_t idle_window(const RailLoad& load, Rate rate, Nanos min_rtt) {
  const double together =
      std::max(kIdleQueues * rate.bytes_in(distance(load, rate, min_rtt) + kQueueTime), double(kIdleBufferLeast));
  const double even = together / std::max(1, load.lanes);
  return even >= double(kIdleMost) ? kAny : std::max(kIdleLeast, std::uint64_t(even));
}

}  // namespace railweave::engine
