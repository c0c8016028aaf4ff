#include "discovery/link_news.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/error.h"
#include "discovery/host_view.h"
#include "discovery/netlink.h"

namespace railweave::discovery {
namespace {

void add_news(Bytes datagram, News& news) {
  for_each_message(datagram, [&](const nlmsghdr& header, Bytes body) {
    ifinfomsg info;
    news.addresses |= header.nlmsg_type == RTM_NEWADDR || header.nlmsg_type == RTM_DELADDR;
    const bool there = header.nlmsg_type == RTM_NEWLINK;
    if ((!there && header.nlmsg_type != RTM_DELLINK) || body.size() < sizeof info) return true;
    std::memcpy(&info, body.data(), sizeof info);
    const unsigned wanted = IFF_UP | IFF_RUNNING | kLowerUp;
    // A bridge sends messages of the same types about its ports, with family AF_BRIDGE.
    if (info.ifi_family == AF_UNSPEC)
      news.links.push_back({info.ifi_index, there && (info.ifi_flags & wanted) == wanted, !there});
    return true;
  });
}

Result<std::vector<LinkState>> all_links() {
  RW_ASSIGN_OR_RETURN(const std::vector<LinkFacts> links, this_host()->links());
  std::vector<LinkState> states;
  for (const LinkFacts& link : links) states.push_back({link.ifindex, link.up && link.running});
  return states;
}

}  // namespace

Result<LinkNews> LinkNews::open() {
  OwnedFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  if (!fd) return system_error(Scope::engine, "socket(AF_NETLINK)");
  sockaddr_nl self{};
  self.nl_family = AF_NETLINK;
  self.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&self), sizeof self) != 0)
    return system_error(Scope::engine, "bind(netlink)");
  return LinkNews(std::move(fd));
}

Result<News> LinkNews::read() {
  News news;
  bool dropped = false;
  alignas(nlmsghdr) std::array<std::byte, 32 * 1024> datagram;  // the kernel's largest datagram
  for (;;) {
    const ssize_t n = ::recv(fd_.get(), datagram.data(), datagram.size(), MSG_TRUNC);
    if (n >= 0 && std::size_t(n) <= datagram.size()) {
      add_news(Bytes(datagram).first(std::size_t(n)), news);
    } else if (n >= 0 || errno == ENOBUFS) {
      dropped = true;
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      return system_error(Scope::engine, "recv(netlink)");
    }
  }
  if (!dropped) return news;
  RW_ASSIGN_OR_RETURN(news.links, all_links());
  news.addresses = true;
  return news;
}

}  // namespace railweave::discovery
