// From what the host has to the rails of an engine: look, wait a little for links that are coming up, choose, explain.
#pragma once

#include <string>
#include <vector>

#include "discovery/host_view.h"
#include "railweave/config.h"
#include "railweave/device.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::discovery {

// Links come up about 100 ms after they are made; duplicate detection of an IPv6 address takes up to 2 s.
inline constexpr Nanos kWaitForLink = std::chrono::seconds(1);         // while nothing (or nothing good) is usable
inline constexpr Nanos kWaitForAddress = std::chrono::seconds(3);      // ... and a tentative address could change that
inline constexpr Nanos kWaitForMore = std::chrono::milliseconds(300);  // while some are usable and others may follow

// Rails at most that are there at once: two virtual functions on each of eight ports.
inline constexpr std::size_t kRailsAtOnceMax = 16;

struct Considered {
  std::string name;
  bool taken = false;
  std::string reason;
};

struct Discovered {
  std::vector<Rail> taken;             // in rail order
  std::vector<Considered> considered;  // every interface of the host, in the kernel's order
};

// The whole story, also where it ends badly.
struct Survey {
  Discovered found;
  Status status;  // invalid_config: ill-formed or unknown names, nothing usable (the message says what there is and why
                  // not); system: the kernel did not answer
};

// Blocks for at most kWaitForAddress. Logs each choice (info), and a warning for a named interface that is unusable.
Survey survey_rails(const Config& config, const HostView& host);

struct UsableRail {
  Rail rail;
  int known = -1;  // which of those that were known; -1: none
};

// Those of the rails that are known (by the index of an interface, for its name may change; by its name where the
// rail's own interface is gone, as when it was plugged out and in) that are usable as they are now, and what the rules
// take beside them, as if all known ones carried: a second choice does not become a rail because the first has no link
// for a while. A known one is left out while an address is in duplicate detection, or only link-local ones are left of
// routable ones. Waits for nothing and logs nothing. Errors: as a Survey's status, but that none may be usable, and
// where a known one is, names may be wrong.
Result<std::vector<UsableRail>> usable_rails(const Config& config, const HostView& host,
                                             const std::vector<Rail>& known);

// The rails, never none, or why there are none.
Result<Discovered> discover_rails(const Config& config, const HostView& host);

}  // namespace railweave::discovery
