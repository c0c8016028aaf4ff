// Kernel settings that decide which NIC a peer's packets come by and whether they are taken, read from /proc/sys/net of
// this network namespace. Threads: any. An attribute that cannot be read (a container may hide /proc/sys) is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "discovery/host_view.h"

namespace railweave::discovery {

// As the kernel applies them to one interface: the greater of conf/all and conf/INTERFACE.
struct InterfaceSettings {
  // 0: ARP requests for any address of the host are answered on this interface
  std::optional<std::int64_t> arp_ignore;
  std::optional<std::int64_t> arp_announce;  // 2: ARP requests name an address of this interface as their sender
  // 1: a packet is dropped unless the route back leads by this interface; 2: ... unless there is a route back; 0: taken
  std::optional<std::int64_t> rp_filter;

  // Whether this interface answers ARP requests for addresses of the host's other interfaces. Settings that are not
  // known count as no.
  bool answers_for_others() const;
  // Whether packets are dropped by the route back to their sender.
  bool is_strict() const { return rp_filter == 1; }
};

// `interface`: its name.
InterfaceSettings interface_settings(const HostView& host, const std::string& interface);

// 0: never; 1: after a black hole was found; 2: always (tcp_mtu_probing of ip-sysctl).
std::optional<std::int64_t> tcp_mtu_probing(const HostView& host);

}  // namespace railweave::discovery
