// The local addresses that raw_tcp, a program without discovery, uses as rails.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "railweave/status.h"

namespace railweave::perf {

struct RailAddress {
  std::string name;            // of the interface; empty: the interface that has the address
  std::string label;           // name in reports: the interface's name, or the address that was asked for
  sockaddr_storage address{};  // port 0
};

// Returns one rail for each interface that an entry of the comma-separated list selects. An entry is an address of this
// host, an interface name, or a prefix of names; with '=' before the list only exact names count. Interfaces must be
// up. Their IPv4 address is preferred, then a global IPv6 address. Errors: invalid_argument, listing the existing
// interfaces.
Result<std::vector<RailAddress>> find_rails(std::string list);

socklen_t address_length(const sockaddr_storage& address);
std::string format_address(const sockaddr_storage& address);
// Parses a numeric address. The family is AF_UNSPEC if `text` is no numeric address.
sockaddr_storage parse_address(const std::string& text, std::uint16_t port);

}  // namespace railweave::perf
