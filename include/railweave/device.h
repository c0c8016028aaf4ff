// The host's rails, and the devices that are made of the rails. Plain values, constant after discovery.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "railweave/units.h"

namespace railweave {

// An IPv4 or IPv6 address without port. `bytes` in network order; IPv4 uses the first four.
struct Address {
  enum class Family : std::uint8_t { v4 = 4, v6 = 6 };
  Family family = Family::v4;
  std::array<std::uint8_t, 16> bytes{};
  std::uint8_t prefix_bits = 32;  // length of the subnet's prefix
  std::uint32_t scope_id = 0;     // interface index, for IPv6 link-local only; else 0

  friend bool operator==(const Address&, const Address&) = default;
};

// The kind of link that an interface's traffic runs on, found by following the interfaces below. Best kind first.
enum class LinkKind {
  hardware,  // a network card, or a VLAN, bond, bridge... over one
  guest,     // veth, macvlan, ipvlan: a container's link to its host; the links below are not visible
  fallback,  // tunnels, wireless, USB (on servers the way to the management controller)
  isolated,  // carries no traffic off this host: dummy, ifb, loopback, a bridge without a port to the outside
};

// One local network interface that carries traffic.
struct Rail {
  std::string name;  // the kernel's name, e.g. "eth0"
  int ifindex = 0;
  std::vector<Address> addresses;  // usable addresses, best first; never empty
  Rate speed;                      // speed of the link; 10 Gb/s where the kernel does not know the speed
  bool speed_known = false;
  int mtu_bytes = 1500;
  int numa_node = -1;  // -1: unknown
  // sysfs real path of the PCI device (VLAN or bond: of the card below); empty: no device is visible
  std::string pci_path;
  std::string physical_function;  // name of the port that rails may share: the PF's PCI path, else pci_path, else name;
                                  // "#port" is appended where one PCI function has several ports
  bool whole_port = false;        // true: a PCI function itself; VFs and SFs with its physical_function are its parts
  LinkKind link_kind = LinkKind::guest;
  bool loopback = false;  // reaches this host only
  // true: a loopback or dummy interface with a routable address (BGP to the host). The routes choose the NIC of each
  // packet, so lanes are bound to the address and to no interface
  bool by_routes = false;
  std::string vrf;      // name of the VRF device that the interface is a member of; empty: none
  int vrf_ifindex = 0;  // interface index of the VRF device; 0: none
  // least number of lanes per rail pair that gives each link of a bond, or each of several routes, a share
  int lanes_min = 1;
};

// One NIC as NCCL sees NICs: one rail, or all rails.
struct Device {
  std::string name;        // unique on the host
  std::vector<int> rails;  // indices into the engine's rails; never empty
  Rate speed;              // sum over physical functions, each counted once
  std::string pci_path;    // the first rail's
  // hash of the physical function(s); equal only for devices that share one port's bandwidth
  std::uint64_t guid = 0;
};

}  // namespace railweave
