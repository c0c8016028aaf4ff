// HostView: discovery's interface to the operating system. It gives the links and addresses of this network namespace,
// the places of sysfs and procfs, and time. Tests implement it to simulate hosts.
//
// Links and addresses come from the kernel (rtnetlink) and not from sysfs: a /sys that was mounted in another network
// namespace shows that namespace's interfaces. sysfs adds only speed, PCI, NUMA and SR-IOV, which rtnetlink lacks.
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
  bool up = false;       // administratively up
  bool running = false;  // has carrier and is operational
  bool loopback = false;
  int mtu_bytes = 1500;
  std::string kind;  // as rtnetlink names it: "veth", "bond", "vlan", "bridge", ...; empty for hardware and loopback
  int master = 0;    // ifindex of the bond, bridge, switch or VRF that the link is a member of; 0: none
  int lower = 0;     // ifindex of the link below (VLAN, macvlan) or of the pair (veth); 0: none in this namespace
};

// True for a link that carries nothing off this host itself. Routes may lead to its addresses by other interfaces.
inline bool holds_addresses_only(const LinkFacts& link) { return link.loopback || link.kind == "dummy"; }

struct AddressFacts {
  int ifindex = 0;
  Address address;
  bool tentative = false;   // IPv6 duplicate detection is not over; false for an optimistic address (usable meanwhile)
  bool failed = false;      // IPv6 duplicate detection found a duplicate
  bool deprecated = false;  // not to be used for new connections
  bool temporary = false;   // IPv6 privacy address: will expire
};

// Threads: one at a time, for const methods, too. Errors: system (the kernel did not answer).
class HostView {
 public:
  virtual ~HostView() = default;
  virtual std::string sysfs_root() const = 0;                       // "/sys" on a real host
  virtual std::string procfs_root() const = 0;                      // "/proc" on a real host
  virtual std::string etc_root() const = 0;                         // "/etc" on a real host
  virtual Result<std::vector<LinkFacts>> links() const = 0;         // in the kernel's order
  virtual Result<std::vector<AddressFacts>> addresses() const = 0;  // in the kernel's order
  virtual TimePoint now() const = 0;
  virtual void sleep(Nanos time) const = 0;
};

// Returns the network namespace of this process. Never null.
std::unique_ptr<HostView> this_host();

}  // namespace railweave::discovery
