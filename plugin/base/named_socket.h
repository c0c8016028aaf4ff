// TCP sockets by host name or address, for control connections such as the rendezvous; never for payload.
// Descriptors are non-blocking and CLOEXEC; connected ones have TCP_NODELAY. Threads: any; both calls block.
// Errors: Code::invalid_argument for a host name that does not resolve, system.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave {

// Returns a listening socket. `host` an address: at this address only. "localhost" and similar names: on loopback. Any
// other name: at all addresses of this host, IPv4 and IPv6, because a host may map its own name to loopback (Debian's
// installer: 127.0.1.1) while peers map the name to another address. The name must resolve on this host. `served`: the
// port in use (`port`, unless `port` is 0).
Result<OwnedFd> listen_at(const std::string& host, std::uint16_t port, std::uint16_t& served);
// Connects to `host`: tries all its addresses, again every 20 ms, until one accepts or `timeout` is over. Errors:
// timed_out; the message has the last refusal, and a hint if the name resolves to loopback only.
Result<OwnedFd> connect_to(const std::string& host, std::uint16_t port, Nanos timeout);

}  // namespace railweave
