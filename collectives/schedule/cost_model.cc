#include "collectives/schedule/cost_model.h"

#include <algorithm>
#include <cassert>

namespace railweave::collectives {
namespace {

// Share of the shorter time that adds to the longer one, when network and cores work at once.
constexpr double kNotHidden = 0.25;

double seconds(Nanos time) { return double(time.count()) / 1e9; }
double seconds(Rate rate, double bytes) { return bytes > 0 ? seconds(rate.time_for(bytes)) : 0; }

}  // namespace

Nanos estimate(const Problem& problem, const Algorithm& algorithm, const Costs& costs) {
  assert(algorithm.fits(problem));
  const Load load = algorithm.load(problem);
  const double waiting =
      load.rounds_between * seconds(costs.latency_between) + load.rounds_within * seconds(costs.latency_within);
  const double posting = load.messages * seconds(costs.step_overhead);
  // Network and cores work in parallel, though the network also costs the cores time. Within a host the cores move the
  // bytes.
  const double between = seconds(costs.rate_between, load.bytes_between);
  const double working = seconds(costs.rate_within, load.bytes_within) + seconds(costs.reduction, load.reduced_bytes);
  const double moving = std::max(between, working) + kNotHidden * std::min(between, working);
  const Rate slower = load.rounds_between > 0 ? costs.rate_between : costs.rate_within;
  const double filling = seconds(slower, load.filling_bytes);
  return Nanos(std::int64_t((waiting + posting + moving + filling) * 1e9));
}

const Algorithm* choose(const Problem& problem, const Costs& costs, std::string_view named) {
  const std::string_view wanted = chosen_name(named, problem.operation);
  const Algorithm* best = nullptr;
  Nanos least = Nanos::max();
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.operation != problem.operation || !algorithm.fits(problem)) continue;
    if (algorithm.name == wanted) return &algorithm;
    const Nanos time = estimate(problem, algorithm, costs);
    if (best != nullptr && time >= least) continue;
    best = &algorithm;
    least = time;
  }
  assert(best != nullptr);
  return best;
}

}  // namespace railweave::collectives
