#include "collective/memory_fit.h"

#include <algorithm>

#include "base/error.h"
#include "common/free_memory.h"

namespace railweave::perf::collective {

std::size_t largest_that_fits(std::size_t free_bytes, int ranks_on_host) {
  return (free_bytes - free_bytes / 5) / (2 * std::size_t(std::max(ranks_on_host, 1)));
}

Status fit_to_memory(Options& options, Exchange& exchange, const std::vector<DeviceEntry>& entries,
                     const std::string& host) {
  const auto here = std::ranges::count(entries, host, &DeviceEntry::host);
  const auto mine = double(largest_that_fits(free_memory_bytes(), int(here)));
  RW_ASSIGN_OR_RETURN(const std::vector<double> fits, exchange.numbers({mine}));
  const double least = *std::ranges::min_element(fits);
  if (double(options.max_bytes) <= least) return {};
  options.max_bytes = std::size_t(least);
  options.min_bytes = std::min(options.min_bytes, options.max_bytes);
  return {};
}

}  // namespace railweave::perf::collective
