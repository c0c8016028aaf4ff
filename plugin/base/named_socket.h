// TCP sockets by host name or address, for control connections: who meets where, never the load.
// Descriptors are non-blocking and CLOEXEC, with TCP_NODELAY where they are connected. Threads: any.
// Errors: Code::invalid_argument for a host that nobody knows, system.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave {

// `served`: the port that was taken (`port` unless that is 0).
Result<OwnedFd> listen_at(const std::string& host, std::uint16_t port, std::uint16_t& served);
// Tries all addresses of the host again and again until somebody listens there. Errors: timed_out, with the last refusal.
Result<OwnedFd> connect_to(const std::string& host, std::uint16_t port, Nanos timeout);

}  // namespace railweave
