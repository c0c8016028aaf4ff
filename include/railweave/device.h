// What the host offers: rails, and the devices made of them. Plain values, constant after discovery.
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
  std::uint32_t scope_id = 0;     // interface index, for IPv6 link-local only

  friend bool operator==(const Address&, const Address&) = default;
};

// What an interface's traffic runs on, found by following what it is stacked on.
enum class LinkKind {
  hardware,  // a network card, or a VLAN, bond, bridge... over one
  guest,     // veth, macvlan, ipvlan: how a container meets its host; what lies below is out of sight
  fallback,  // tunnels, wireless, USB (on servers the way to the management controller)
  isolated,  // carries no traffic off this host: dummy, ifb, loopback, a bridge without a port to the outside
};

// One local network interface that carries traffic.
struct Rail {
  std::string name;  // as the kernel calls it, e.g. "eth0"
  int ifindex = 0;
  std::vector<Address> addresses;  // usable ones, best first; never empty
  Rate speed;                      // of the link; 10 Gb/s where the kernel does not know
  bool speed_known = false;
  int mtu_bytes = 1500;
  int numa_node = -1;  // -1: unknown
  // realpath of the PCI device (below a VLAN or bond: of its card); empty: none in sight
  std::string pci_path;
  std::string physical_function;  // what this rail shares its port with: the PF's PCI path, else pci_path, else name;
                                  // "#port" is appended where one PCI function has several ports
  bool whole_port = false;        // a PCI function itself: VFs and SFs of that physical_function are parts of it
  LinkKind link_kind = LinkKind::guest;
  bool loopback = false;  // reaches this host only
  // a loopback or dummy interface that holds a routable address (BGP to the host): packets go by whichever NIC the
  // routes say, so lanes are bound to the address and to no interface
  bool by_routes = false;
  std::string vrf;      // the VRF device that this is a member of; empty: none
  int vrf_ifindex = 0;  // of the VRF device; 0: none
  // lanes of a pair from which all links below have a share: of a bond, of several routes
  int lanes_min = 1;
};

// What NCCL sees as one NIC: one rail, or all of them.
struct Device {
  std::string name;        // unique on the host
  std::vector<int> rails;  // indices into the engine's rails; never empty
  Rate speed;              // sum over physical functions, each counted once
  std::string pci_path;    // of the first rail
  // of the physical function(s): equal only for devices that share one port's bandwidth
  std::uint64_t guid = 0;
};

}  // namespace railweave
