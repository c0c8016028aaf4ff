// Asks the kernel whether a route leads to an address by an interface (rtnetlink(7), RTM_GETROUTE). A socket that is
// bound to the interface and to a source address needs such a route.
//
// A connection attempt does not answer this question. If a socket is bound to an interface, Linux treats an IPv4
// address without a route as a neighbour and resolves it by ARP.
//
// Threads: any. Blocks for the kernel's answer, which takes microseconds; at most twice kNetlinkPatience
// (discovery/netlink.h). Linux answers without its lock on the network's configuration. Errors: none; if the kernel
// does not answer, the result is Kind::unknown.
#pragma once

#include <optional>
#include <string>

#include "railweave/device.h"

namespace railweave::discovery {

struct RouteQuery {
  Address destination;
  Address source;   // one of this host's addresses, of the destination's family
  int ifindex = 0;  // the interface to use; 0: any interface that the routes of `source` name
};

struct RouteAnswer {
  enum class Kind {
    reachable,  // by the interface of the query, or the destination is one of this host's own addresses
    none,       // by no interface
    elsewhere,  // by other interfaces only
    unknown,    // the kernel gave no answer; callers proceed as for `reachable`
  };
  Kind kind = Kind::unknown;
  int ifindex = 0;                 // interface by which the route leads; 0: none, or not known
  std::string interface;           // name of this interface; empty: none, or not known
  std::optional<Address> gateway;  // nullopt: the destination is on the link
  std::string cause;               // for none and unknown, in words: "the link is down", "a route forbids it"
};

// A route by the interface counts as `reachable` only while the link has carrier. The routes are those for `source`
// (ip-rule(8)). If `source` is not this host's address: for IPv4 there is no route, for IPv6 the kernel does not check.
// The scope of a link-local destination is query.ifindex, whatever its scope_id. A kernel before 4.13 answers
// `reachable` for every IPv4 address if the interface exists.
RouteAnswer find_route(const RouteQuery& query);

// Returns the obstacle, for a message: "no route to 10.0.2.5 by eth1 from 10.0.2.4: the route leads by eth0".
// `interface` is the name of the query's interface. Empty if the address is reachable or the answer is unknown.
std::string why_no_route(const RouteQuery& query, const std::string& interface, const RouteAnswer& answer);

}  // namespace railweave::discovery
