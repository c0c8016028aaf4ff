// The automatic choice of interfaces. Each rule is a function that returns why an interface is left out, or nothing.
// Rules go by the kind of an interface and hardly ever by its name: names differ per distribution and per container.
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <string_view>

#include "discovery/selection.h"

namespace railweave::discovery {
namespace {

using Interfaces = std::vector<Interface>;

// Leaves loopback out: traffic to this host would work, and traffic to other hosts would not.
std::string leave_loopback(const Interface& interface) {
  if (!interface.link.loopback) return {};
  return interface.by_routes() ? "loopback with a routable address: only when named" : "loopback: only when named";
}

// Leaves members out: frames to a member go to the bond, team or bridge, which holds the host's addresses.
std::string leave_member(const Interface& interface) {
  if (interface.master_name.empty()) return {};
  const char* kind = interface.master_kind.empty() ? "its upper device" : interface.master_kind.c_str();
  return fmt::format("member of {} ({})", interface.master_name, kind);
}

// Leaves representors out: in switchdev mode the switch's port of a VF looks like a network card.
std::string leave_representor(const Interface& interface) {
  return interface.representor ? "representor of a virtual function: its peer carries the traffic" : "";
}

// Leaves isolated interfaces out. docker0, virbr0 and br-0123456789ab have the same addresses on every host, and lead
// to this host's own guests only.
std::string leave_idle(const Interface& interface) {
  if (interface.link_kind != LinkKind::isolated) return {};
  if (interface.link.kind == "bridge") return "bridge without a port to the outside (containers, virtual machines)";
  if (interface.by_routes())
    return fmt::format("{} interface with a routable address: only when named", interface.link.kind);
  return fmt::format("{} interface: carries nothing off this host", interface.link.kind);
}

// Fallback for kernels and sandboxes that do not report the kind of a link.
std::string leave_by_name(const Interface& interface) {
  const std::string_view name = interface.link.name;
  if (interface.link_kind == LinkKind::hardware) return {};
  constexpr std::array<std::string_view, 5> kPrefixes{"docker", "virbr", "podman", "lxcbr", "lxdbr"};
  for (const std::string_view prefix : kPrefixes) {
    if (name.substr(0, prefix.size()) == prefix) return fmt::format("{}*: container or machine bridge", prefix);
  }
  constexpr std::size_t kDockerNetworkName = 15;  // "br-" and twelve hexadecimal digits
  const bool docker_network = name.size() == kDockerNetworkName && name.substr(0, 3) == "br-" &&
                              name.find_first_not_of("0123456789abcdef", 3) == name.npos;
  return docker_network ? "br-*: container network" : "";
}

// Returns why the interface is left out, apart from other interfaces and from whether it is usable. Pending interfaces
// are judged as if they were ready.
std::string disqualified(const NameList* excluded, const Interface& interface) {
  if (excluded && excluded->matches(interface.link.name)) return "excluded by NCCL_SOCKET_IFNAME";
  for (const auto rule : {leave_loopback, leave_member, leave_representor, leave_idle, leave_by_name}) {
    if (std::string reason = rule(interface); !reason.empty()) return reason;
  }
  return {};
}

// Returns the class of an interface; smaller is better. Routable addresses come before link-local ones, then LinkKind
// decides: hardware, guest, fallback. Only interfaces of the best class become rails: beside a network card, a pod's
// overlay interface is the slow way to the same hosts. An interface that waits for a routable address counts as having
// the address.
int class_of(const Interface& interface) {
  const AddressChoice& addresses = interface.addresses;
  const bool link_local = (addresses.link_local_only || addresses.link_local_pending) && !addresses.pending;
  return static_cast<int>(interface.link_kind) + (link_local ? 10 : 0);
}

const char* class_name(const Interface& interface) {
  if (interface.addresses.link_local_only) return "only link-local addresses";
  if (interface.link_kind == LinkKind::guest) return "virtual interface";
  return "tunnel, wireless or USB interface";
}

void keep_best_class(const Interfaces& all, Selection& selection) {
  int best = 100;
  std::string example;
  for (const std::size_t i : selection.taken) {
    if (class_of(all[i]) < best) best = class_of(all[i]), example = all[i].link.name;
  }
  std::erase_if(selection.taken, [&](std::size_t i) {
    if (class_of(all[i]) == best) return false;
    selection.reasons[i] = fmt::format("{}, and there is better: {}", class_name(all[i]), example);
    return true;
  });
}

// Takes a port once: a physical function and its VFs, or a card and its VLANs, share one port's bandwidth. If the whole
// port is taken, its parts are left out. If the whole port is not taken, its parts stay, also two VFs of one port.
void keep_port_owners(const Interfaces& all, Selection& selection) {
  const std::vector<std::size_t> before = selection.taken;
  std::erase_if(selection.taken, [&](std::size_t i) {
    const int owner = port_owner(all, i);
    if (owner < 0 || std::find(before.begin(), before.end(), static_cast<std::size_t>(owner)) == before.end())
      return false;
    selection.reasons[i] =
        fmt::format("shares the port of {}, which is taken", all[static_cast<std::size_t>(owner)].link.name);
    return true;
  });
}

// Leaves slow interfaces out: a 1 Gb/s management port beside 100 Gb/s adds nothing, and may reach no peer's rail.
void leave_slow(const Interfaces& all, Selection& selection) {
  constexpr double kShareMin = 0.1;
  const Interface* fastest = nullptr;
  for (const std::size_t i : selection.taken) {
    if (all[i].speed_known && (!fastest || fastest->speed < all[i].speed)) fastest = &all[i];
  }
  if (!fastest) return;
  std::erase_if(selection.taken, [&](std::size_t i) {
    if (!all[i].speed_known || all[i].speed.bytes_per_s >= kShareMin * fastest->speed.bytes_per_s) return false;
    selection.reasons[i] =
        fmt::format("{:g} Gb/s, under a tenth of {} ({:g} Gb/s): only when named", all[i].speed.megabits() / 1000,
                    fastest->link.name, fastest->speed.megabits() / 1000);
    return true;
  });
}

std::string why_taken(const Interface& interface) {
  if (interface.addresses.link_local_only) return "only link-local addresses, but there is nothing better";
  if (interface.link_kind == LinkKind::guest) return "virtual interface; no hardware is usable here";
  if (interface.link_kind == LinkKind::fallback)
    return "tunnel, wireless or USB interface; nothing better is usable here";
  if (interface.sub_function) return "virtual function, up, with an address";
  return interface.link.kind.empty() ? "network card, up, with an address"
                                     : interface.link.kind + " over a network card";
}

}  // namespace

Selection select_automatic(const NameList* excluded, const Interfaces& all) {
  Selection selection;
  selection.reasons.resize(all.size());
  std::vector<std::size_t> waiting;
  for (std::size_t i = 0; i < all.size(); ++i) {
    selection.reasons[i] = disqualified(excluded, all[i]);
    if (!selection.reasons[i].empty()) continue;
    selection.reasons[i] = unusable(all[i]);
    if (selection.reasons[i].empty()) {
      selection.taken.push_back(i);
    } else {
      waiting.push_back(i);
    }
  }
  keep_best_class(all, selection);
  const int best = selection.taken.empty() ? 100 : class_of(all[selection.taken.front()]);
  keep_port_owners(all, selection);
  leave_slow(all, selection);
  std::ranges::sort(selection.taken, [&](std::size_t a, std::size_t b) { return rail_order(all[a], all[b]); });
  for (const std::size_t i : selection.taken) selection.reasons[i] = why_taken(all[i]);
  // Beside usable interfaces, a pending one counts only if it has an address and its class is not worse.
  for (const std::size_t i : waiting) {
    const AddressChoice& addresses = all[i].addresses;
    const bool addressed = !addresses.usable.empty() || addresses.pending || addresses.link_local_pending;
    if (!selection.taken.empty() && (!addressed || class_of(all[i]) > best)) continue;
    note_pending(all[i], selection);
    selection.better_pending |= all[i].link.up && class_of(all[i]) < best;
  }
  return selection;
}

}  // namespace railweave::discovery
