#include "engine/credit/share_policy.h"

#include <algorithm>

namespace railweave::engine {
namespace {

constexpr std::uint64_t kIdleBufferLeast = 128 * KiB;
constexpr double kIdleQueues = 2;
constexpr std::uint64_t kIdleLeast = 4 * KiB, kIdleMost = 64 * KiB;
constexpr double kWindowMost = 1ULL << 60;  // so that a rate out of a forged account fits an integer
constexpr std::uint64_t kTurnUnit = 4 * KiB;
constexpr Nanos kQueueTimeMost = std::chrono::milliseconds(10);  // of a rate that is hardly known

// A lane that came while others filled the queue never saw the path without that queue: its shortest round trip holds
// the queue. So what it has beyond the shortest of all lanes counts as distance only where no queue of ours is so long.
Nanos distance(const RailLoad& load, Rate rate, Nanos min_rtt) {
  if (load.least_rtt == Nanos{0} || min_rtt <= load.least_rtt) return min_rtt;
  const Nanos queues(std::int64_t(kQueuesMost * double((load.least_rtt + kQueueTime).count())));
  const Nanos longest = std::max(queues, rate.time_for(double(kBufferLeast)));
  return load.least_rtt + std::max(Nanos{0}, min_rtt - load.least_rtt - longest);
}

// What senders that take turns may have under way together.
double most_under_way(double target) { return std::max(kQueuesMost * target, double(kBufferLeast)); }

// A round's bytes divided by the senders, in steps.
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
