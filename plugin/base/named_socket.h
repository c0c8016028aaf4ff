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

// At an address: there alone. At "localhost" and its like: on loopback. At any other name: at all addresses of this
// host, IPv4 and IPv6, because hosts may map their own name to loopback (Debian's installer: 127.0.1.1) while peers map
// it to another address. The name has to be known here. `served`: the port that was taken (`port` unless that is 0).
Result<OwnedFd> listen_at(const std::string& host, std::uint16_t port, std::uint16_t& served);
// Tries all addresses of the host again and again until somebody listens there. Errors: timed_out, with the last
// refusal, and with what to do where the name leads to this host alone.
Result<OwnedFd> connect_to(const std::string& host, std::uint16_t port, Nanos timeout);

}  // namespace railweave
