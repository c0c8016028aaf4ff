// Chooses the rails of an engine from the host's interfaces. Waits a little for links that are coming up, and gives the
// reason for each choice.
#pragma once

#include <string>
#include <vector>

#include "discovery/host_view.h"
#include "railweave/config.h"
#include "railweave/device.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::discovery {

// How long discovery waits, at most. Links come up about 100 ms after creation; duplicate detection of an IPv6 address
// takes up to 2 s.
inline constexpr Nanos kWaitForLink = std::chrono::seconds(1);  // no interface, or none of the best kind, is usable yet
inline constexpr Nanos kWaitForAddress = std::chrono::seconds(3);  // as above, and a tentative address may change this
inline constexpr Nanos kWaitForMore = std::chrono::milliseconds(300);  // some are usable, and others may follow
// A pod's network status is empty. Kubelet fills it in after the pod's containers have started.
inline constexpr Nanos kWaitForNetworks = std::chrono::seconds(5);

// Most rails that exist at once: two virtual functions on each of eight ports.
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

// The result of discovery, with the reasons even if it failed.
struct Survey {
  Discovered found;
  Status status;  // invalid_config: ill-formed or unknown names, an ill-formed network status of a pod, or no usable
                  // interface (the message lists the interfaces with reasons); system: the kernel did not answer
};

// Blocks for at most kWaitForNetworks. Logs each choice (info), and a warning for a named interface that is unusable.
Survey survey_rails(const Config& config, const HostView& host);

struct UsableRail {
  Rail rail;
  int known = -1;  // index into the known rails; -1: a new rail
};

// Returns the rails that are usable now: known rails first, then new ones.
// - A known rail is recognised by its interface index, for a name may change. If this interface is gone (unplugged and
//   plugged in again), the rail is recognised by its name.
// - New rails are chosen by the rules, as if all known rails were usable. So a second choice does not become a rail
//   while the first choice has no link.
// - A known rail is left out while an address is in duplicate detection, and while it has only link-local addresses but
//   had a routable address before.
// Waits for nothing and logs nothing. Errors: as Survey::status, with two exceptions. No usable rail is no error, and
// wrong names are no error if a known rail is usable.
Result<std::vector<UsableRail>> usable_rails(const Config& config, const HostView& host,
                                             const std::vector<Rail>& known);

// Returns at least one rail, or the error as in Survey::status. Blocks and logs as survey_rails().
Result<Discovered> discover_rails(const Config& config, const HostView& host);

}  // namespace railweave::discovery
