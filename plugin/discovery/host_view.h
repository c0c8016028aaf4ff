// The door to the operating system: what the kernel says about links and addresses of this network namespace, where
// sysfs and procfs are, and time. Discovery reaches the host only through it, so that tests can make hosts up.
//
// Links and addresses come from the kernel and not from sysfs, because a /sys mounted in another network namespace
// shows that namespace's interfaces; sysfs adds what only it knows (speed, PCI, NUMA, SR-IOV).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "railweave/device.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::discovery {

struct LinkFacts {
  std::string name;
  int ifindex = 0;
  bool up = false;       // an administrator wants it up
  bool running = false;  // it has carrier and is operational
  bool loopback = false;
  int mtu_bytes = 1500;
  std::string kind;  // rtnetlink's word: "veth", "bond", "vlan", "bridge", ...; empty for hardware and loopback
  int master = 0;    // ifindex of the bond, bridge, switch or VRF it is a member of; 0: none
  int lower = 0;     // ifindex of what it is stacked on (VLAN, macvlan) or paired with (veth); 0: none here
};

// Carries nothing off this host by itself; routes may lead to its addresses by other interfaces.
inline bool holds_addresses_only(const LinkFacts& link) { return link.loopback || link.kind == "dummy"; }

struct AddressFacts {
  int ifindex = 0;
  Address address;
  bool tentative = false;   // IPv6 duplicate detection still runs
  bool failed = false;      // ... and found a duplicate
  bool deprecated = false;  // not to be used for new connections
  bool temporary = false;   // IPv6 privacy address: will go away
};

// Threads: const methods may be called from one thread at a time.
class HostView {
 public:
  virtual ~HostView() = default;
  virtual std::string sysfs_root() const = 0;                       // "/sys" on a real host
  virtual std::string procfs_root() const = 0;                      // "/proc" on a real host
  virtual Result<std::vector<LinkFacts>> links() const = 0;         // in the kernel's order
  virtual Result<std::vector<AddressFacts>> addresses() const = 0;  // in the kernel's order
  virtual TimePoint now() const = 0;
  virtual void sleep(Nanos time) const = 0;
};

// The host (network namespace) this process runs in. Never null.
std::unique_ptr<HostView> this_host();

}  // namespace railweave::discovery
