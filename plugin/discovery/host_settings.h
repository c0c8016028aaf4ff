// Kernel settings that decide which NIC receives a peer's packets, and whether the kernel drops them. Read from
// /proc/sys/net of this network namespace. Threads: any. Errors: none; a setting that cannot be read is nullopt (a
// container may hide /proc/sys).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "discovery/host_view.h"

namespace railweave::discovery {

// The settings of one interface as the kernel applies them: the greater of conf/all and conf/INTERFACE.
struct InterfaceSettings {
  // 0: ARP requests for any address of the host are answered on this interface
  std::optional<std::int64_t> arp_ignore;
  std::optional<std::int64_t> arp_announce;  // 2: ARP requests name an address of this interface as their sender
  // 1: packets are dropped unless the route back leads by this interface; 2: without any route back; 0: never
  std::optional<std::int64_t> rp_filter;

  // True if this interface answers ARP requests for addresses of the host's other interfaces. False if not known.
  bool answers_for_others() const;
  // True if packets are dropped unless the route back to their sender leads by this interface. False if not known.
  bool is_strict() const { return rp_filter == 1; }
};

// `interface`: the interface's name.
InterfaceSettings interface_settings(const HostView& host, const std::string& interface);

// 0: never; 1: after a black hole was found; 2: always (tcp_mtu_probing of the kernel's ip-sysctl); nullopt: not known.
std::optional<std::int64_t> tcp_mtu_probing(const HostView& host);

}  // namespace railweave::discovery
