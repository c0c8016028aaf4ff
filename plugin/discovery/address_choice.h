// Which of an interface's addresses peers may be told, and in which order.
#pragma once

#include <vector>

#include "discovery/host_view.h"
#include "railweave/config.h"

namespace railweave::discovery {

// Addresses of one rail, at most. Hosts that announce services carry hundreds.
inline constexpr std::size_t kAddressesMax = 8;

struct AddressChoice {
  std::vector<Address> usable;      // best first
  bool link_local_only = false;     // of the usable ones; false when there is none
  bool pending = false;             // a routable address is still in duplicate detection
  bool link_local_pending = false;  // a link-local address is, and there is no usable one
  bool passed_over = false;         // there were addresses, all of them deprecated, duplicate or of the wrong family
};

// Order: IPv4, then IPv6 global, then IPv6 unique local; the kernel's order among equals.
// - tentative, duplicate and deprecated ones are skipped: the kernel would not, or soon not, use them either
// - IPv6 temporary ones only when there is no stable one: they vanish under a training run
// - link-local ones only when there is nothing else: they mean something on one subnet only. But where no other IPv6
// address is, the
//   first IPv6 link-local one comes last: rails on one switch are told apart by it where IPv4's ARP mixes them up
// - loopback ones only on the loopback interface, and only when that holds no routable one
// - no link-local ones of loopback and dummy interfaces: nobody else is on that link
AddressChoice choose_addresses(const LinkFacts& link, const std::vector<AddressFacts>& all, AddressFamily family);

bool is_link_local(const Address& address);
// Means the same on every host that has a route there: neither loopback nor link-local.
bool is_routable(const Address& address);

// Those of a rail as they were chosen once, whatever its interface has now.
AddressChoice chosen_before(const std::vector<Address>& addresses);

// The same address, whatever the length of its prefix.
bool same_host(const Address& a, const Address& b);

// Whether the subnets of two addresses, as their prefixes say, are one or lie in one another.
bool same_subnet(const Address& a, const Address& b);

// "192.0.2.1", "fe80::1".
std::string to_text(const Address& address);

}  // namespace railweave::discovery
