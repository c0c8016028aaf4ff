#include "discovery/route_lookup.h"

#include <fmt/format.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/address_text.h"
#include "base/error.h"
#include "discovery/netlink.h"

namespace railweave::discovery {
namespace {

using Kind = RouteAnswer::Kind;

constexpr unsigned kNoCarrier = RTNH_F_DEAD | RTNH_F_LINKDOWN;

// One next hop of a route. A multipath route has several.
struct Hop {
  int ifindex = 0;
  bool carrier = true;
  std::optional<Address> gateway;
};

struct Route {
  unsigned char type = RTN_UNSPEC;
  std::vector<Hop> hops;
};

Bytes raw(const Address& address) {
  return std::as_bytes(std::span(address.bytes)).first(address.family == Address::Family::v4 ? 4 : 16);
}

// `by_source`: ask among the routes for the query's source (ip-rule(8)); else the source is left out.
std::vector<std::byte> request_of(const RouteQuery& query, bool by_source) {
  rtmsg fixed{};
  fixed.rtm_family = query.destination.family == Address::Family::v4 ? AF_INET : AF_INET6;
  fixed.rtm_dst_len = static_cast<unsigned char>(raw(query.destination).size() * 8);
  fixed.rtm_src_len = by_source ? static_cast<unsigned char>(raw(query.source).size() * 8) : 0;
  // Asks for the route as the table has it. Without this flag the kernel answers with a neighbour for an IPv4 address
  // that has no route.
  fixed.rtm_flags = RTM_F_FIB_MATCH;
  const Bytes bytes = std::as_bytes(std::span(&fixed, 1));
  std::vector<std::byte> body(bytes.begin(), bytes.end());
  add_attribute(body, RTA_DST, raw(query.destination));
  if (by_source) add_attribute(body, RTA_SRC, raw(query.source));
  if (query.ifindex > 0) add_attribute(body, RTA_OIF, std::as_bytes(std::span(&query.ifindex, 1)));
  return body;
}

std::optional<Address> address_from(Address::Family family, Bytes value) {
  Address address;
  address.family = family;
  address.prefix_bits = family == Address::Family::v4 ? 32 : 128;
  const std::size_t length = family == Address::Family::v4 ? 4 : 16;
  if (value.size() < length) return std::nullopt;
  std::memcpy(address.bytes.data(), value.data(), length);
  return address;
}

// Parses RTA_VIA: two octets with the family, then a gateway of the other family.
std::optional<Address> via_from(Bytes value) {
  unsigned short family;
  if (value.size() < sizeof(family)) return std::nullopt;
  std::memcpy(&family, value.data(), sizeof(family));
  if (family != AF_INET && family != AF_INET6) return std::nullopt;
  return address_from(family == AF_INET ? Address::Family::v4 : Address::Family::v6, value.subspan(sizeof(family)));
}

void read_hop_attribute(Address::Family family, int type, Bytes value, Hop& hop) {
  if (type == RTA_OIF) hop.ifindex = static_cast<int>(attribute_u32(value).value_or(0));
  if (type == RTA_GATEWAY) hop.gateway = address_from(family, value);
  if (type == RTA_VIA) hop.gateway = via_from(value);
}

// Parses RTA_MULTIPATH: a sequence of rtnexthop, each with attributes.
void read_hops(Address::Family family, Bytes value, std::vector<Hop>& hops) {
  rtnexthop header;
  while (value.size() >= sizeof(header)) {
    std::memcpy(&header, value.data(), sizeof(header));
    if (header.rtnh_len < sizeof(header) || header.rtnh_len > value.size()) return;
    Hop& hop = hops.emplace_back();
    hop.ifindex = header.rtnh_ifindex;
    hop.carrier = (header.rtnh_flags & kNoCarrier) == 0;
    for_each_attribute(value.first(header.rtnh_len), sizeof(header),
                       [&](int type, Bytes part) { read_hop_attribute(family, type, part, hop); });
    value = value.subspan(std::min<std::size_t>(RTNH_ALIGN(header.rtnh_len), value.size()));
  }
}

std::optional<Route> route_from(Address::Family family, Bytes body) {
  rtmsg fixed;
  if (body.size() < sizeof(fixed)) return std::nullopt;
  std::memcpy(&fixed, body.data(), sizeof(fixed));
  Route route{fixed.rtm_type, {}};
  Hop single;
  single.carrier = (fixed.rtm_flags & kNoCarrier) == 0;
  for_each_attribute(body, sizeof(fixed), [&](int type, Bytes value) {
    if (type == RTA_MULTIPATH) read_hops(family, value, route.hops);
    read_hop_attribute(family, type, value, single);
  });
  if (single.ifindex != 0) route.hops.push_back(single);
  return route;
}

RouteAnswer because(Kind kind, std::string cause) {
  RouteAnswer answer;
  answer.kind = kind;
  answer.cause = std::move(cause);
  return answer;
}

// The kernel answers EINVAL for a route of type "blackhole", and EACCES for type "prohibit".
RouteAnswer judge_error(const RouteQuery& query, int error) {
  const bool v4 = query.destination.family == Address::Family::v4;
  if (error == EHOSTUNREACH || (error == ENETUNREACH && !v4))
    return because(Kind::none, "the routing tables have none");
  if (error == ENETUNREACH)
    return because(Kind::none, "the routing tables have none, or the address to send from is not this host's");
  if (error == EACCES || error == EINVAL) return because(Kind::none, "a route forbids it");
  return because(Kind::unknown, std::string(system_error(Scope::lane, "RTM_GETROUTE", error).message()));
}

std::string name_of(int ifindex) {
  std::array<char, IF_NAMESIZE> name{};
  return ::if_indextoname(static_cast<unsigned>(ifindex), name.data()) ? name.data()
                                                                       : fmt::format("interface {}", ifindex);
}

RouteAnswer by(const Hop& hop, Kind kind) {
  if (!hop.carrier && kind == Kind::reachable) return because(Kind::none, "the link is down");
  return {kind, hop.ifindex, name_of(hop.ifindex), hop.gateway, {}};
}

RouteAnswer judge(const RouteQuery& query, const Route& route) {
  if (route.type == RTN_LOCAL) return {Kind::reachable, query.ifindex, {}, {}, {}};
  if (route.type != RTN_UNICAST) return because(Kind::none, "a route forbids it");
  // With net.ipv4.nexthop_compat_mode=0 the kernel returns a nexthop object and not its interfaces.
  if (route.hops.empty()) return because(Kind::unknown, "the kernel names no interface");
  const Hop* best = nullptr;
  for (const Hop& hop : route.hops) {
    const bool wanted = query.ifindex == 0 || hop.ifindex == query.ifindex;
    if (wanted && (!best || (hop.carrier && !best->carrier))) best = &hop;
  }
  return best ? by(*best, Kind::reachable) : by(route.hops.front(), Kind::elsewhere);
}

RouteAnswer ask_once(const RouteQuery& query, bool by_source = true) {
  Result<NetlinkAnswer> answer = netlink_ask(RTM_GETROUTE, request_of(query, by_source));
  if (!answer.ok()) return because(Kind::unknown, std::string(answer.status().message()));
  if (answer->error != 0) return judge_error(query, answer->error);
  const std::optional<Route> route = route_from(query.destination.family, answer->body);
  return route ? judge(query, *route) : because(Kind::unknown, "an answer that is no route");
}

}  // namespace

RouteAnswer find_route(const RouteQuery& query) {
  RouteAnswer answer = ask_once(query);
  // For IPv6 with a source, the kernel may answer with another interface than the query's. A socket that is bound to an
  // interface uses only the routes of this interface, whatever their metric.
  if (answer.kind == Kind::elsewhere && query.destination.family == Address::Family::v6)
    if (RouteAnswer bound = ask_once(query, false); bound.kind == Kind::reachable) return bound;
  if (answer.kind != Kind::none || query.ifindex == 0) return answer;
  // The kernel considered routes by the query's interface only. The other routes show the reader what to mend.
  RouteAnswer other = ask_once({query.destination, query.source, 0});
  if (other.kind != Kind::reachable || other.ifindex == query.ifindex) return answer;
  if (other.ifindex != 0) other.kind = Kind::elsewhere;
  return other;
}

std::string why_no_route(const RouteQuery& query, const std::string& interface, const RouteAnswer& answer) {
  if (answer.kind == Kind::reachable || answer.kind == Kind::unknown) return {};
  const std::string why = answer.kind == Kind::elsewhere ? "the route leads by " + answer.interface : answer.cause;
  return fmt::format("no route to {} by {} from {}: {}", to_string(without_scope(query.destination)), interface,
                     to_string(without_scope(query.source)), why);
}

}  // namespace railweave::discovery
