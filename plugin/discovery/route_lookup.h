// Asks the kernel whether a route leads to an address by an interface, as a socket that is bound to that interface and
// to a source address would need one (rtnetlink(7), RTM_GETROUTE).
//
// A connection attempt does not tell: for a socket that is bound to an interface, Linux takes an IPv4 address without a
// route for a neighbour and asks for it by ARP.
//
// Threads: any. Blocks for the kernel's answer only, which takes microseconds, and for kNetlinkPatience
// (discovery/netlink.h) twice at most. Linux answers without its lock on the network's configuration. No call fails: a
// kernel that does not answer is Kind::unknown.
#pragma once

#include <optional>
#include <string>

#include "railweave/device.h"

namespace railweave::discovery {

struct RouteQuery {
  Address destination;
  Address source;   // one of this host's addresses, of the destination's family
  int ifindex = 0;  // the interface to go by; 0: whichever the routes of `source` name
};

struct RouteAnswer {
  enum class Kind {
    reachable,  // by the interface of the query, or the destination is one of this host's own addresses
    none,       // by no interface
    elsewhere,  // by other interfaces only
    unknown,    // the kernel did not say. A caller goes on as if it were `reachable`
  };
  Kind kind = Kind::unknown;
  int ifindex = 0;                 // of the interface by which the route leads; 0: none, or not told
  std::string interface;           // its name; empty likewise
  std::optional<Address> gateway;  // none: the destination is on the link
  std::string cause;               // of none and unknown, in words: "the link is down", "Network is unreachable"
};

// A route by the interface counts for `reachable` while its link has a carrier. The routes are those that hold for
// `source` (ip-rule(8)). `source` is this host's: of IPv4 another one has no route, of IPv6 the kernel does not look.
// The scope of a link-local destination is query.ifindex, whatever its scope_id. A kernel before 4.13 says `reachable`
// of IPv4 wherever the interface exists.
RouteAnswer find_route(const RouteQuery& query);

// What stands in the way, for a message: "no route to 10.0.2.5 by eth1 from 10.0.2.4: the route leads by eth0".
// `interface` is the query's. Empty where nothing does, or nobody knows.
std::string why_no_route(const RouteQuery& query, const std::string& interface, const RouteAnswer& answer);

}  // namespace railweave::discovery
