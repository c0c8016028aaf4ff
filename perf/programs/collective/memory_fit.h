// Sizes that the hosts have memory for: nccl-tests lowers --maxbytes and says so, where a host would be out of memory.
#pragma once

#include <cstddef>
#include <vector>

#include "collective/exchange.h"
#include "collective/options.h"
#include "collective/table.h"
#include "railweave/status.h"

namespace railweave::perf::collective {

// The largest size of which each of so many ranks has a buffer to send from and one to receive in, with a fifth of the
// memory left.
std::size_t largest_that_fits(std::size_t free_bytes, int ranks_on_host);

// Lowers the sizes of `options` to what fits at every rank; the same at all. Every rank calls this, and none has its
// buffers yet. `host`: of this rank, as in `entries`. Errors: as of exchanges.
Status fit_to_memory(Options& options, Exchange& exchange, const std::vector<DeviceEntry>& entries,
                     const std::string& host);

}  // namespace railweave::perf::collective
