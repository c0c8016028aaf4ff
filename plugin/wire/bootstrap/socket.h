// Making TCP sockets: dial, listen, accept. All descriptors are non-blocking and CLOEXEC; nothing here waits.
// Threads: any; a descriptor by one thread at a time. Errors name call, address and errno (Scope::lane).
#pragma once

#include <string>

#include "base/fd.h"
#include "railweave/config.h"
#include "railweave/device.h"
#include "railweave/status.h"
#include "railweave/units.h"
#include "wire/bootstrap/address.h"

namespace railweave::wire {

// What every lane's socket gets, TCP_NODELAY besides.
struct SocketOptions {
  std::string congestion_control;  // empty: the kernel's default
  int traffic_class = -1;          // IP TOS octet 0..255; -1: leave
  // keepalive: an idle connection ends when nothing was answered for so long, up to two tenths (two seconds) more, and
  // never for a shorter outage; 0: leave
  Nanos peer_timeout{0};
};

// Errors: invalid_config where congestion control is refused (the message lists what the kernel offers), system.
Status set_options(int fd, const SocketOptions& options);

// How often keepalive then asks on an idle connection, whole seconds: what was heard last there may be so long ago
// though all is well.
Nanos keepalive_interval(Nanos peer_timeout);

// Pins a socket to its rail's interface, so that the kernel's routes cannot carry it over another: two rails in one
// subnet need it, at both ends (dial() does it; whoever accepts calls this). Does nothing, and that is fine, for an
// empty name, where the kernel does not permit it, and for a `remote` on this host: between two of its own addresses
// packets go through `lo`, and pinned they would leave by the interface and be dropped on their return as forged.
// Errors: system (ENODEV) where there is no interface of that name, by now: the socket would go wherever a route leads;
// as on_this_host().
Status bind_to_interface(int fd, const std::string& interface, const SocketAddress& remote);

// "eth0"; "interface 7" where there is none of that index any more.
std::string interface_name(int index);

// An address of this host: between two of these packets go through `lo`. Errors: system, without a descriptor to ask
// by.
Result<bool> on_this_host(const SocketAddress& address);

// Payload of a connection's largest packet, as the kernel sends it now (TCP_INFO); 0 where the socket is none of TCP.
std::size_t segment_bytes(int fd);
// Our kernel sent some packet of the connection more than once: its SYN or SYN-ACK, or what was written (TCP_INFO).
bool has_sent_again(int fd);
// The peer closed or reset the connection, and nothing unread came before that.
bool is_closed_by_peer(int fd);
// Some of what was written is not acknowledged by the peer's kernel.
bool has_unacknowledged(int fd);

struct DialSpec {
  Address source;         // the local rail's address
  std::string interface;  // the local rail's name; empty: not pinned
  SocketAddress remote;
  SocketOptions options;
  bool pinned = true;  // to the interface; false: by whichever the routes say
};

// Begins to connect. The socket becomes writable when it is connected, or will never be: then ask connected().
Result<OwnedFd> dial(const DialSpec& spec);

// False: still under way. Errors: Code::remote when refused or unreachable. `remote` is for the message.
Result<bool> connected(int fd, const SocketAddress& remote);

struct Listening {
  OwnedFd fd = OwnedFd();
  SocketAddress address;  // with the port that was chosen
};

// Listens on `address` only, with a backlog of 1024, at an ephemeral port or the first free one of the range. The
// traffic class of `options` is what accepted sockets start with. `vrf`: the VRF device whose address it is; empty:
// none. Errors: exhausted when the range is in use, system.
Result<Listening> listen_at(const Address& address, PortRange ports, const SocketOptions& options,
                            const std::string& vrf = {});

struct Accepted {
  OwnedFd fd = OwnedFd();  // none: nobody waits
  SocketAddress remote;
  // index of the one that the peer's last packet of the handshake arrived on; 0: the kernel does not say
  int interface = 0;
};

// Connections that died in the queue are skipped. Errors: Code::exhausted without descriptors or memory, system.
Result<Accepted> accept_from(int listener);

}  // namespace railweave::wire
