// What an error number of libfabric means for a lane. Plain values. Threads: any.
// Source: fi_errno(3), and the error numbers that the providers tcp, ofi_rxm and shm report.
#pragma once

#include <cstdint>
#include <string>

#include "railweave/status.h"
#include "wire/ofi/library.h"
#include "wire/wire.h"

namespace railweave::wire::ofi {

// `error`: positive or negative.
LaneEnd lane_end_of(std::int64_t error);

// Returns Code::remote for an error of the path or of the peer, else Code::system. `what`: the call and its object.
Status failure(const Library& library, const std::string& what, std::int64_t error);

}  // namespace railweave::wire::ofi
