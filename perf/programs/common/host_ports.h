// Addresses with ports, as people write them on command lines: "10.0.0.2:7001,host-b:7002".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "railweave/status.h"

namespace railweave::perf {

struct HostPort {
  std::string address;     // or a host name
  std::uint16_t port = 0;  // 1 to 65535 once parsed
};

// Returns at least one entry. The last colon of an entry begins its port, so IPv6 addresses need no brackets. Errors:
// invalid_argument, quoting the entry that is malformed.
Result<std::vector<HostPort>> parse_host_ports(std::string_view text);

}  // namespace railweave::perf
