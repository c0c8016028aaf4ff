#include "collective/iteration_times.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace railweave::perf::collective {
namespace {

// Returns the nearest rank.
double percentile(const std::vector<double>& sorted, std::size_t percent) {
  const std::size_t place = (sorted.size() * percent + 99) / 100;
  return sorted[std::min(sorted.size(), std::max<std::size_t>(place, 1)) - 1];
}

}  // namespace

IterationTimes summarise_iterations(const std::vector<double>& times_us, std::size_t skipped) {
  IterationTimes made;
  skipped = std::min(skipped, times_us.size() - 1);
  made.times_us.assign(times_us.begin() + std::ptrdiff_t(skipped), times_us.end());
  std::vector<double> sorted = made.times_us;
  std::sort(sorted.begin(), sorted.end());
  const double n = double(sorted.size());
  made.min_us = sorted.front();
  made.max_us = sorted.back();
  made.mean_us = std::accumulate(sorted.begin(), sorted.end(), 0.0) / n;
  made.p50_us = sorted[sorted.size() / 2];
  made.p95_us = percentile(sorted, 95);
  made.p99_us = percentile(sorted, 99);
  double squares = 0;
  for (const double time : sorted) squares += (time - made.mean_us) * (time - made.mean_us);
  made.deviation_us = std::sqrt(squares / n);
  return made;
}

}  // namespace railweave::perf::collective
