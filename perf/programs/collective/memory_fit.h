// Limits sizes to the hosts' free memory. nccl-tests too lowers --maxbytes, with a message, where a host lacks memory.
#pragma once

#include <cstddef>
#include <vector>

#include "collective/exchange.h"
#include "collective/options.h"
#include "collective/table.h"
#include "railweave/status.h"

namespace railweave::perf::collective {

// Returns the largest size of which each of `ranks_on_host` ranks can have a send and a receive buffer while a fifth of
// `free_bytes` stays free.
std::size_t largest_that_fits(std::size_t free_bytes, int ranks_on_host);

// Lowers the sizes of `options` to the largest that fits at every rank. All ranks get the same result. Every rank calls
// this before it allocates buffers. `host`: this rank's host name as in `entries`. Errors: those of the exchange.
Status fit_to_memory(Options& options, Exchange& exchange, const std::vector<DeviceEntry>& entries,
                     const std::string& host);

}  // namespace railweave::perf::collective
