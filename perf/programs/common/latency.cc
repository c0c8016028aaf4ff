#include "common/latency.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace railweave::perf {
namespace {

std::size_t rank_of(double share, std::size_t count) {
  const auto rank = std::size_t(std::ceil(share * double(count)));
  return std::clamp<std::size_t>(rank, 1, count) - 1;
}

double microseconds(Nanos t) { return double(t.count()) / 1000; }

}  // namespace

Nanos LatencySamples::percentile(double share) const {
  std::vector<Nanos> copy = samples_;
  const auto nth = copy.begin() + std::ptrdiff_t(rank_of(share, copy.size()));
  std::nth_element(copy.begin(), nth, copy.end());
  return *nth;
}

nlohmann::json LatencySamples::to_json() const {
  if (samples_.empty()) return nullptr;
  std::vector<Nanos> sorted = samples_;
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double share) { return microseconds(sorted[rank_of(share, sorted.size())]); };
  const Nanos sum = std::accumulate(sorted.begin(), sorted.end(), Nanos(0));
  return {{"min", microseconds(sorted.front())},
          {"p50", at(0.5)},
          {"p90", at(0.9)},
          {"p99", at(0.99)},
          {"max", microseconds(sorted.back())},
          {"mean", microseconds(sum) / double(sorted.size())}};
}

}  // namespace railweave::perf
