// All facts about one network interface, from rtnetlink and sysfs, before any choice.
#pragma once

#include <string>
#include <vector>

#include "discovery/address_choice.h"
#include "discovery/host_view.h"
#include "railweave/config.h"
#include "railweave/device.h"

namespace railweave::discovery {

struct Interface {
  LinkFacts link;
  AddressChoice addresses;

  std::string master_name, master_kind;  // the bond, bridge... above, whose member this is; empty: none, or a VRF
  std::string vrf;                       // as Rail::vrf
  int vrf_ifindex = 0;                   // as Rail::vrf_ifindex
  std::vector<int> lowers;               // indices of the interfaces below this one, among those of survey()
  LinkKind link_kind = LinkKind::guest;
  bool representor = false;   // the switch's port of a VF or SF; the VF or SF carries the traffic
  bool sub_function = false;  // SR-IOV VF or SF: a part of the port that `physical_function` names

  Rate speed;  // 10 Gb/s where unknown
  bool speed_known = false;
  int numa_node = -1;             // -1: unknown
  std::string pci_path;           // as Rail::pci_path
  std::string physical_function;  // as Rail::physical_function; "#port" is appended as there

  int lanes_min = 1;  // as Rail::lanes_min

  // As Rail::by_routes.
  bool by_routes() const {
    return holds_addresses_only(link) && !addresses.usable.empty() && is_routable(addresses.usable.front());
  }
  bool is_whole_port() const { return !sub_function && !representor && lowers.empty() && !pci_path.empty(); }
};

// Returns the facts of every interface of the host, in the kernel's order. Errors: Code::system (no netlink).
Result<std::vector<Interface>> survey(const HostView& host, AddressFamily family);

// Returns the index of the interface whose port `part` shares as a part of it: the physical function of a VF, the
// parent of a VLAN. -1: none is visible.
int port_owner(const std::vector<Interface>& all, std::size_t part);

}  // namespace railweave::discovery
