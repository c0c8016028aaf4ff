// Socket addresses, and their conversion between the kernel's form, railweave::Address with a port, and text.
// Threads: any; the types are plain values.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "railweave/device.h"
#include "railweave/status.h"

namespace railweave::wire {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;  // bytes used of `storage`; 0: no address

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }  // AF_INET, AF_INET6
  std::uint16_t port() const;                       // host byte order
  Address address() const;                          // prefix_bits: a single host's (32, 128). REQUIRES: size > 0
  bool loopback() const;
};

SocketAddress socket_address(const Address& address, std::uint16_t port);

// Parses "10.0.0.1:5000" or "[fe80::1%eth0]:5000" (scope by name or number).
// Errors: invalid_argument; the message quotes `text`.
Result<SocketAddress> parse_socket_address(std::string_view text);

// Formats an address as parse_socket_address() reads it; "none" for an address of size 0.
std::string to_string(const SocketAddress& address);

// Return the addresses of a socket's two ends; size 0 if the kernel has no address, for example after a reset.
SocketAddress local_address(int fd);
SocketAddress remote_address(int fd);

}  // namespace railweave::wire
