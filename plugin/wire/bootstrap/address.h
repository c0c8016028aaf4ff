// Socket addresses: between the kernel's form, ours (railweave::Address and a port) and text.
// Plain values; any thread.
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
  socklen_t size = 0;  // 0: none

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }  // AF_INET, AF_INET6
  std::uint16_t port() const;                       // host order
  Address address() const;                          // prefix_bits is that of a single host. REQUIRES: size > 0
  bool loopback() const;
};

SocketAddress socket_address(const Address& address, std::uint16_t port);

// "10.0.0.1:5000", "[fe80::1%eth0]:5000" (scope by name or number). Errors: invalid_argument, naming the text.
Result<SocketAddress> parse_socket_address(std::string_view text);

// The same form; "none" for an address of size 0.
std::string to_string(const SocketAddress& address);
// Without port and brackets.
std::string to_string(const Address& address);

// The addresses of a socket's two ends; size 0 where the kernel has none (any more).
SocketAddress local_address(int fd);
SocketAddress remote_address(int fd);

}  // namespace railweave::wire
