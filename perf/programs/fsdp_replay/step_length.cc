#include "fsdp_replay/step_length.h"

#include <fmt/core.h>

#include "fsdp_replay/seconds.h"

namespace railweave::perf::fsdp_replay {
namespace {

constexpr int kActsPerLayer = 5;  // at most, by the CPU thread: two gathers, two pieces, a reduction

// Returns the time of everything one after the other.
double longest_s(const Trace& trace, const Ring& ring) {
  double seconds = in_seconds(trace.optimizer);
  for (const Layer& layer : trace.layers) {
    seconds += in_seconds(layer.forward) + in_seconds(layer.backward);
    seconds += ring.bytes_moved(2 * layer.gather_bytes + layer.reduce_bytes) / ring.rate.bytes_per_s;
    seconds += 3 * (ring.members - 1) * in_seconds(ring.latency);
  }
  return seconds;
}

Status check_length(const Trace& trace, const Ring& ring, double seconds, double most_s, const char* to) {
  if (seconds <= most_s) return {};
  return Status(
      Code::invalid_argument, Scope::request,
      fmt::format(
          "{}: found a step of {:.3g} s on a ring of {}, one thing after the other, expected {:g} s or less to {}",
          trace.name, seconds, ring.members, most_s, to));
}

}  // namespace

Status check_length_to_bound(const Trace& trace, const Ring& ring) {
  return check_length(trace, ring, longest_s(trace, ring), kBoundMost_s, "compute its bound");
}

Status check_length_to_play(const Trace& trace, const Ring& ring, const Parameters& parameters) {
  const double act_s = in_seconds(parameters.launch) + in_seconds(parameters.wake) + in_seconds(parameters.synchronize);
  const double thread_s = act_s * kActsPerLayer * double(trace.layers.size());
  return check_length(trace, ring, longest_s(trace, ring) + thread_s, kPlayedMost_s, "play it");
}

}  // namespace railweave::perf::fsdp_replay
