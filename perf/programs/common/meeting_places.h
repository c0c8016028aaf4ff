// Where ranks meet, as people write it on command lines: "10.0.0.2:7001,host-b:7002".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "railweave/status.h"

namespace railweave::perf {

struct RendezvousPlace {
  std::string address;     // or a host name
  std::uint16_t port = 0;  // of a place that was read: 1 to 65535
};

// At least one place. The last colon of a place begins its port, so IPv6 addresses need no brackets. Errors:
// invalid_argument, quoting the place that is none.
Result<std::vector<RendezvousPlace>> parse_meeting_places(std::string_view text);

}  // namespace railweave::perf
