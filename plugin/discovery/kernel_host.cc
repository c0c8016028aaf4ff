// The HostView of the real host, by rtnetlink.
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <algorithm>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "discovery/host_view.h"
#include "discovery/netlink.h"

namespace railweave::discovery {
namespace {

std::string text_of(Bytes value) {
  const auto* text = reinterpret_cast<const char*>(value.data());
  return std::string(text, strnlen(text, value.size()));
}

LinkFacts parse_link(const ifinfomsg& info, Bytes body) {
  LinkFacts link;
  link.ifindex = info.ifi_index;
  link.up = (info.ifi_flags & IFF_UP) != 0;
  link.running = (info.ifi_flags & IFF_RUNNING) != 0 && (info.ifi_flags & kLowerUp) != 0;
  link.loopback = (info.ifi_flags & IFF_LOOPBACK) != 0;
  bool lower_is_elsewhere = false;
  for_each_attribute(body, sizeof(info), [&](int type, Bytes value) {
    if (type == IFLA_IFNAME) link.name = text_of(value);
    if (type == IFLA_MTU) link.mtu_bytes = static_cast<int>(attribute_u32(value).value_or(1500));
    if (type == IFLA_MASTER) link.master = static_cast<int>(attribute_u32(value).value_or(0));
    if (type == IFLA_LINK) link.lower = static_cast<int>(attribute_u32(value).value_or(0));
    if (type == IFLA_LINK_NETNSID) lower_is_elsewhere = true;
    if (type == IFLA_LINKINFO) {
      for_each_attribute(value, 0, [&](int part, Bytes kind) {
        if (part == IFLA_INFO_KIND) link.kind = text_of(kind);
      });
    }
  });
  if (lower_is_elsewhere || link.lower == link.ifindex) link.lower = 0;
  return link;
}

AddressFacts parse_address(const ifaddrmsg& info, Bytes body) {
  AddressFacts facts;
  facts.ifindex = static_cast<int>(info.ifa_index);
  facts.address.family = info.ifa_family == AF_INET ? Address::Family::v4 : Address::Family::v6;
  facts.address.prefix_bits = info.ifa_prefixlen;
  std::uint32_t flags = info.ifa_flags;
  const std::size_t length = info.ifa_family == AF_INET ? 4 : 16;
  const auto keep = [&](Bytes value) {
    if (value.size() >= length) std::memcpy(facts.address.bytes.data(), value.data(), length);
  };
  bool local = false;  // IFA_LOCAL was seen: this host's address; on point-to-point links IFA_ADDRESS is the peer's
  for_each_attribute(body, sizeof(info), [&](int type, Bytes value) {
    if (type == IFA_LOCAL) keep(value), local = true;
    if (type == IFA_ADDRESS && !local) keep(value);
    if (type == IFA_FLAGS) flags = attribute_u32(value).value_or(flags);
  });
  facts.tentative = (flags & IFA_F_TENTATIVE) != 0 && (flags & IFA_F_OPTIMISTIC) == 0;
  facts.failed = (flags & IFA_F_DADFAILED) != 0;
  facts.deprecated = (flags & IFA_F_DEPRECATED) != 0;
  facts.temporary = info.ifa_family == AF_INET6 && (flags & IFA_F_TEMPORARY) != 0;
  return facts;
}

class KernelHost final : public HostView {
 public:
  std::string sysfs_root() const override { return "/sys"; }
  std::string procfs_root() const override { return "/proc"; }
  std::string etc_root() const override { return "/etc"; }

  Result<std::vector<LinkFacts>> links() const override {
    std::vector<LinkFacts> links;
    RW_TRY(netlink_dump(
        RTM_GETLINK, RTM_NEWLINK, [&] { links.clear(); },
        [&](Bytes body) {
          ifinfomsg info;
          if (body.size() < sizeof(info)) return;
          std::memcpy(&info, body.data(), sizeof(info));
          links.push_back(parse_link(info, body));
        }));
    return links;
  }

  Result<std::vector<AddressFacts>> addresses() const override {
    std::vector<AddressFacts> addresses;
    RW_TRY(netlink_dump(
        RTM_GETADDR, RTM_NEWADDR, [&] { addresses.clear(); },
        [&](Bytes body) {
          ifaddrmsg info;
          if (body.size() < sizeof(info)) return;
          std::memcpy(&info, body.data(), sizeof(info));
          if (info.ifa_family == AF_INET || info.ifa_family == AF_INET6) addresses.push_back(parse_address(info, body));
        }));
    return addresses;
  }

  TimePoint now() const override { return railweave::now(); }
  void sleep(Nanos time) const override { std::this_thread::sleep_for(time); }
};

}  // namespace

std::unique_ptr<HostView> this_host() { return std::make_unique<KernelHost>(); }

}  // namespace railweave::discovery
