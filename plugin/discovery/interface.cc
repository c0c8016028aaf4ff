#include "discovery/interface.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "discovery/sysfs.h"

namespace railweave::discovery {
namespace {

constexpr double kSpeedUnknownMbit = 10'000;
constexpr std::int64_t kSpeedMaxMbit = 10'000'000;  // larger values are the unsigned -1 of old drivers
constexpr int kStackDepthMax = 8;
// A lane goes by the bond member, or the route, that the lane's ports hash to. With four lanes per link, one of two
// links stays idle in 1 of 128 cases.
constexpr int kLanesPerLink = 4, kLanesByRoutes = 2 * kLanesPerLink;

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 5> kStacked{"vlan", "macvlan", "ipvlan", "macsec", "hsr"};
constexpr std::array<std::string_view, 18> kTunnels{"tun",    "wireguard", "vxlan",  "geneve",    "gre",  "gretap",
                                                    "ip6gre", "ip6gretap", "erspan", "ip6erspan", "ipip", "ip6tnl",
                                                    "sit",    "vti",       "vti6",   "xfrm",      "ppp",  "bareudp"};
constexpr std::array<std::string_view, 6> kIdle{"dummy", "ifb", "nlmon", "vcan", "netdevsim", "vrf"};

// True for a PCI address: "0000:5e:00.1".
bool is_pci_address(std::string_view name) {
  const auto hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  if (name.size() < 12 || name.size() > 16) return false;  // domains have four digits or more
  const std::string_view domain = name.substr(0, name.size() - 8), rest = name.substr(name.size() - 8);
  return std::all_of(domain.begin(), domain.end(), hex) && rest[0] == ':' && hex(rest[1]) && hex(rest[2]) &&
         rest[3] == ':' && hex(rest[4]) && hex(rest[5]) && rest[6] == '.' && rest[7] >= '0' && rest[7] <= '7';
}

// Returns the innermost PCI device on the path to `device`; for a virtio device, e.g., this is its parent. Empty: none.
std::string pci_device(std::string device) {
  while (!device.empty()) {
    const std::size_t slash = device.rfind('/');
    if (slash == device.npos) return {};
    if (is_pci_address(std::string_view(device).substr(slash + 1))) return device;
    device.resize(slash);
  }
  return {};
}

// True for a representor's phys_port_name: "pf0vf3", "c1pf0sf88". The card's own port is "p0".
bool names_representor(std::string_view port) {
  const std::size_t pf = port.find("pf");
  return pf != port.npos && (pf == 0 || port[0] == 'c') &&
         (port.find("vf", pf + 2) != port.npos || port.find("sf", pf + 2) != port.npos);
}

// True for veth, tun and dummy, whose drivers report a constant as the speed.
bool makes_speed_up(const std::string& kind) { return kind == "veth" || kind == "tun" || kind == "dummy"; }

void read_speed(const Sysfs& sysfs, const std::string& dir, Interface& interface) {
  const std::int64_t mbit = sysfs.number(dir + "/speed").value_or(-1);
  interface.speed_known = mbit > 0 && mbit <= kSpeedMaxMbit && !makes_speed_up(interface.link.kind);
  interface.speed = Rate::from_megabits(interface.speed_known ? static_cast<double>(mbit) : kSpeedUnknownMbit);
}

// Fills the fields that sysfs provides. The defaults stay if the entry is missing, or belongs to another interface of
// the same name.
void read_sysfs(const Sysfs& sysfs, Interface& interface) {
  interface.speed = Rate::from_megabits(kSpeedUnknownMbit);
  const std::string& name = interface.link.name;
  if (name.empty() || name == "." || name == ".." || name.find('/') != name.npos) return;
  const std::string dir = "/sys/class/net/" + name;
  if (sysfs.number(dir + "/ifindex") != interface.link.ifindex) return;
  read_speed(sysfs, dir, interface);
  interface.representor = names_representor(sysfs.text(dir + "/phys_port_name").value_or(""));

  const std::string device = sysfs.real_path(dir + "/device");
  if (device.empty()) return;
  const bool fallback = device.find("/usb") != device.npos || sysfs.exists(dir + "/phy80211");
  interface.link_kind = fallback ? LinkKind::fallback : LinkKind::hardware;
  interface.pci_path = pci_device(device);
  if (interface.pci_path.empty()) return;
  const std::int64_t node = sysfs.number(interface.pci_path + "/numa_node").value_or(-1);
  interface.numa_node = node >= 0 && node <= 4095 ? static_cast<int>(node) : -1;
  const std::string whole = sysfs.real_path(interface.pci_path + "/physfn");
  interface.sub_function = !whole.empty() || device.find(".sf.", interface.pci_path.size()) != device.npos;
  interface.physical_function = whole.empty() ? interface.pci_path : whole;
}

// Appends the port's number to physical_function where one PCI function has several ports (dev_port 0, 1, ...), which
// are different rails. Elsewhere the number is left out, because VFs do not always repeat it.
void add_ports(const Sysfs& sysfs, std::vector<Interface>& all) {
  const auto port = [&](const Interface& interface) {
    return sysfs.number("/sys/class/net/" + interface.link.name + "/dev_port").value_or(0);
  };
  std::vector<std::string> names(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].pci_path.empty() || all[i].representor) continue;
    const bool shared = std::any_of(all.begin(), all.end(), [&](const Interface& other) {
      return !other.representor && other.pci_path == all[i].pci_path && port(other) != port(all[i]);
    });
    if (shared) names[i] = all[i].physical_function + "#" + std::to_string(port(all[i]));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!names[i].empty()) all[i].physical_function = names[i];
  }
}

void find_relations(std::vector<Interface>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < all.size(); ++j) {
      if (i == j) continue;
      const bool member = all[j].link.master == all[i].link.ifindex;
      if (member && all[i].link.kind == "vrf") {
        all[j].vrf = all[i].link.name;
        all[j].vrf_ifindex = all[i].link.ifindex;
      } else if (member) {
        all[j].master_name = all[i].link.name;
        all[j].master_kind = all[i].link.kind;
      }
      const bool stacked = all[i].link.lower == all[j].link.ifindex && one_of(all[i].link.kind, kStacked);
      if (member || stacked) all[i].lowers.push_back(static_cast<int>(j));
    }
  }
}

LinkKind link_kind_of(const std::vector<Interface>& all, const Interface& interface, int depth) {
  const std::string& kind = interface.link.kind;
  if (interface.link.loopback || one_of(kind, kIdle)) return LinkKind::isolated;
  // a kind other than guest is from sysfs
  if (interface.link_kind != LinkKind::guest || depth >= kStackDepthMax) return interface.link_kind;
  if (one_of(kind, kTunnels)) return LinkKind::fallback;
  LinkKind best = interface.lowers.empty() && kind != "bridge" ? LinkKind::guest : LinkKind::isolated;
  for (const int lower : interface.lowers) {
    const Interface& below = all[static_cast<std::size_t>(lower)];
    // A bridge's veth and tap ports lead to this host's containers and virtual machines.
    if (kind == "bridge" && (below.link.kind == "veth" || below.link.kind == "tun")) continue;
    best = std::min(best, link_kind_of(all, below, depth + 1));
  }
  return best;
}

// Fills the port of an interface from the interfaces below. Above one interface: the same port. Above several: the
// interface keeps its own name as physical_function, and gets their card and NUMA node where all agree.
void inherit_from_lowers(std::vector<Interface>& all, Interface& interface, int depth) {
  if (!interface.pci_path.empty() || interface.lowers.empty() || depth >= kStackDepthMax) return;
  for (const int lower : interface.lowers) inherit_from_lowers(all, all[static_cast<std::size_t>(lower)], depth + 1);
  const Interface& first = all[static_cast<std::size_t>(interface.lowers.front())];
  const auto card = [](const Interface& port) { return port.pci_path.substr(0, port.pci_path.rfind('/')); };
  bool one_card = true, one_node = true;
  for (const int lower : interface.lowers) {
    const Interface& below = all[static_cast<std::size_t>(lower)];
    one_card &= card(below) == card(first);
    one_node &= below.numa_node == first.numa_node;
  }
  if (one_card) interface.pci_path = first.pci_path;
  if (one_node) interface.numa_node = first.numa_node;
  if (interface.lowers.size() > 1) return;
  interface.physical_function = first.physical_function.empty() ? first.link.name : first.physical_function;
  if (interface.link_kind == LinkKind::hardware) return;
  interface.speed = first.speed;
  interface.speed_known = first.speed_known;
}

// True for bond modes that ignore the lane: all packets go by one member or by all members, or the packets alternate
// between the members.
bool needs_no_lanes(const Sysfs& sysfs, const Interface& bond) {
  // the file's text is, e.g., "802.3ad 4"
  const std::string mode = sysfs.text("/sys/class/net/" + bond.link.name + "/bonding/mode").value_or("");
  return one_of(std::string_view(mode).substr(0, mode.find(' ')),
                std::array<std::string_view, 3>{"active-backup", "broadcast", "balance-rr"});
}

int lanes_min_of(const Sysfs& sysfs, const std::vector<Interface>& all, const Interface& interface, int depth) {
  if (interface.by_routes()) return kLanesByRoutes;
  const std::string& kind = interface.link.kind;
  const int below = static_cast<int>(interface.lowers.size());
  if (kind == "bond" || kind == "team")
    return below == 0 || needs_no_lanes(sysfs, interface) ? 1 : kLanesPerLink * below;
  if (below != 1 || depth >= kStackDepthMax) return 1;
  return lanes_min_of(sysfs, all, all[static_cast<std::size_t>(interface.lowers.front())], depth + 1);
}

}  // namespace

Result<std::vector<Interface>> survey(const HostView& host, AddressFamily family) {
  RW_ASSIGN_OR_RETURN(const std::vector<LinkFacts> links, host.links());
  RW_ASSIGN_OR_RETURN(const std::vector<AddressFacts> addresses, host.addresses());
  const Sysfs sysfs(host.sysfs_root());
  std::vector<Interface> all(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    all[i].link = links[i];
    all[i].addresses = choose_addresses(links[i], addresses, family);
    read_sysfs(sysfs, all[i]);
  }
  add_ports(sysfs, all);
  find_relations(all);
  for (Interface& interface : all) inherit_from_lowers(all, interface, 0);
  for (Interface& interface : all) interface.lanes_min = lanes_min_of(sysfs, all, interface, 0);
  std::vector<LinkKind> link_kinds;
  for (const Interface& interface : all) link_kinds.push_back(link_kind_of(all, interface, 0));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].link_kind = link_kinds[i];
    if (all[i].physical_function.empty()) all[i].physical_function = all[i].link.name;
  }
  return all;
}

int port_owner(const std::vector<Interface>& all, std::size_t part) {
  const Interface& one = all[part];
  if (one.sub_function) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Interface& other = all[i];
      if (other.is_whole_port() && other.physical_function == one.physical_function) return static_cast<int>(i);
    }
  }
  return one_of(one.link.kind, kStacked) && one.lowers.size() == 1 ? one.lowers.front() : -1;
}

}  // namespace railweave::discovery
