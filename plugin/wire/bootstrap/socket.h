// TCP sockets: dial, listen, accept, and options. All descriptors are non-blocking and CLOEXEC. No call waits.
// Threads: any; one thread at a time for each descriptor.
// Errors: messages name call, address and errno. Their scope is Scope::lane, or Scope::engine for failures to listen or
// accept and for a refused congestion control.
#pragma once

#include <string>

#include "base/fd.h"
#include "railweave/config.h"
#include "railweave/device.h"
#include "railweave/status.h"
#include "railweave/units.h"
#include "wire/bootstrap/address.h"

namespace railweave::wire {

// The options of every lane's socket. set_options() sets TCP_NODELAY as well.
struct SocketOptions {
  std::string congestion_control;  // empty: the kernel's default
  int traffic_class = -1;          // IP TOS octet, 0 to 255; -1: unchanged
  // keepalive: an idle connection ends after this time without an answer, never earlier, and at most two times
  // keepalive_interval() later; 0: unchanged
  Nanos peer_timeout{0};
};

// Errors: invalid_config if the kernel refuses the congestion control (the message lists those it offers), system.
Status set_options(int fd, const SocketOptions& options);

// Returns the interval of keepalive probes on an idle connection, in whole seconds. The last packet of a healthy idle
// connection may be this old.
Nanos keepalive_interval(Nanos peer_timeout);

// Binds a socket to its rail's interface, so that the kernel's routes cannot send its packets over another interface.
// Two rails in one subnet need this at both ends: dial() calls this function, and the acceptor must call it.
// Returns ok and does nothing for an empty name, if the kernel does not permit it, and for a `remote` on this host.
// Packets between two addresses of this host use `lo`. From a bound socket they would leave by the interface, and be
// dropped on return as forged.
// Errors: system (ENODEV) if no interface has this name (any more), because an unbound socket would take any route;
// those of on_this_host().
Status bind_to_interface(int fd, const std::string& interface, const SocketAddress& remote);

// Returns a name such as "eth0", or "interface 7" if no interface has this index any more.
std::string interface_name(int index);

// True: `address` belongs to this host. Packets between two such addresses use `lo`.
// Errors: system, if no descriptor is left for the test.
Result<bool> on_this_host(const SocketAddress& address);

// Returns the payload bytes of the largest packet that the kernel sends now (TCP_INFO); 0 if `fd` is no TCP socket.
std::size_t segment_bytes(int fd);
// True: this host retransmitted a packet of the connection: its SYN or SYN-ACK, or data (TCP_INFO).
bool has_retransmitted(int fd);
// True: the peer closed or reset the connection, and no unread bytes came before.
bool is_closed_by_peer(int fd);
// True: the peer's kernel has not acknowledged all written bytes.
bool has_unacknowledged(int fd);

struct DialSpec {
  Address source;         // the local rail's address
  std::string interface;  // the local rail's name; empty: not bound to an interface
  SocketAddress remote;
  SocketOptions options;
  bool pinned = true;  // bind to `interface`; false: the kernel's routes choose
};

// Starts to connect. The socket becomes writable when connected or failed: call connected() then.
// Errors: Code::remote if the kernel refuses at once, system; those of set_options() and bind_to_interface().
Result<OwnedFd> dial(const DialSpec& spec);

// False: still connecting. `remote`: for the message. Errors: Code::remote if refused or unreachable.
Result<bool> connected(int fd, const SocketAddress& remote);

struct Listening {
  OwnedFd fd = OwnedFd();
  SocketAddress address;  // with the chosen port
};

// Listens on `address` only, with a backlog of 1024, at the first free port of the range (0: an ephemeral port).
// Accepted sockets inherit the traffic class of `options`. `vrf`: the VRF device that has `address`; empty: none.
// Errors: exhausted if the whole range is in use, system; those of set_options().
Result<Listening> listen_at(const Address& address, PortRange ports, const SocketOptions& options,
                            const std::string& vrf = {});

struct Accepted {
  OwnedFd fd = OwnedFd();  // none: no connection waits
  SocketAddress remote;
  // index of the interface on which the last packet of the TCP handshake arrived; 0: not known
  int interface = 0;
};

// Accepts the next connection, and skips those that failed in the queue.
// Errors: Code::exhausted without descriptors or memory, system.
Result<Accepted> accept_from(int listener);

}  // namespace railweave::wire
