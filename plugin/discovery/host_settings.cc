#include "discovery/host_settings.h"

#include <algorithm>

#include "discovery/sysfs.h"

namespace railweave::discovery {
namespace {

std::string ipv4(const HostView& host) { return host.procfs_root() + "/sys/net/ipv4/"; }

std::optional<std::int64_t> effective(const HostView& host, const std::string& interface, const std::string& setting) {
  const auto of = [&](const std::string& whose) {
    return attribute_number(ipv4(host) + "conf/" + whose + "/" + setting);
  };
  return std::max(of("all"), of(interface));  // nullopt (not readable) is less than any value
}

}  // namespace

// Values of arp_ignore: 0 and 4 to 7 restrict nothing; 3 restricts host-scope addresses only; 1 and 2 answer only for
// the interface's own addresses; 8 answers for none.
bool InterfaceSettings::answers_for_others() const {
  return arp_ignore && *arp_ignore != 1 && *arp_ignore != 2 && *arp_ignore != 8;
}

InterfaceSettings interface_settings(const HostView& host, const std::string& interface) {
  if (interface.empty() || interface == "." || interface == ".." || interface.find('/') != interface.npos) return {};
  return {effective(host, interface, "arp_ignore"), effective(host, interface, "arp_announce"),
          effective(host, interface, "rp_filter")};
}

std::optional<std::int64_t> tcp_mtu_probing(const HostView& host) {
  return attribute_number(ipv4(host) + "tcp_mtu_probing");
}

}  // namespace railweave::discovery
