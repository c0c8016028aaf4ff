// Everything known about one network interface, and nothing decided yet.
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

  std::string master_name, master_kind;  // of the bond, bridge... this is a member of; empty: none (a VRF is none)
  std::string vrf;                       // as Rail's
  int vrf_ifindex = 0;                   // likewise
  std::vector<int> lowers;               // indices of the interfaces this one is stacked on
  LinkKind link_kind = LinkKind::guest;
  bool representor = false;   // a switch port that stands for a VF or SF; its peer carries the traffic
  bool sub_function = false;  // SR-IOV VF or SF: a part of a port, and `physical_function` is the whole

  Rate speed;  // 10 Gb/s where unknown
  bool speed_known = false;
  int numa_node = -1;
  std::string pci_path;           // as Rail's
  std::string physical_function;  // as Rail's; with "#port" where one PCI function has several ports

  int lanes_min = 1;  // as Rail's

  // As Rail's.
  bool by_routes() const {
    return holds_addresses_only(link) && !addresses.usable.empty() && is_routable(addresses.usable.front());
  }
  bool is_whole_port() const { return !sub_function && !representor && lowers.empty() && !pci_path.empty(); }
};

// Looks at every interface of the host, in the kernel's order. Errors: Code::system (no netlink).
Result<std::vector<Interface>> survey(const HostView& host, AddressFamily family);

// Index of the whole that `part` is a part of and shares its port with: the physical function of a VF, the parent of a
// VLAN; -1 when there is none in sight.
int port_owner(const std::vector<Interface>& all, std::size_t part);

}  // namespace railweave::discovery
