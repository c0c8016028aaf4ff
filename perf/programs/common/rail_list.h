// Which local addresses a program without discovery (raw_tcp) uses as rails.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "railweave/status.h"

namespace railweave::perf {

struct RailAddress {
  std::string name;            // of the interface; empty: whatever carries the address
  std::string label;           // what reports call it: the name, or the address it was asked for by
  sockaddr_storage address{};  // port 0
};

// Each entry of the comma list is an address of this host, an interface name ('=' before the list: exactly so), or a
// prefix of names. Interfaces must be up; IPv4 first, else a global IPv6 address. Errors: invalid_argument, listing the
// interfaces that exist.
Result<std::vector<RailAddress>> find_rails(std::string list);

socklen_t address_length(const sockaddr_storage& address);
std::string format_address(const sockaddr_storage& address);
// The reverse, numeric addresses only; family AF_UNSPEC when `text` is none.
sockaddr_storage parse_address(const std::string& text, std::uint16_t port);

}  // namespace railweave::perf
