// TCP sockets of a store: by host name, blocking until a deadline.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::collectives {

// `served`: the port that was taken (`port` unless that is 0).
Result<OwnedFd> listen_at(const std::string& host, std::uint16_t port, std::uint16_t& served);
// Tries again until somebody listens there. Errors: timed_out, invalid_argument (no such host).
Result<OwnedFd> connect_to(const std::string& host, std::uint16_t port, Nanos timeout);

}  // namespace railweave::collectives
