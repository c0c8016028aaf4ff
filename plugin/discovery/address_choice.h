// Chooses the addresses of an interface that are announced to peers, and their order. Pure functions.
#pragma once

#include <vector>

#include "discovery/host_view.h"
#include "railweave/config.h"

namespace railweave::discovery {

// Most addresses of one rail. The bound matters on hosts that announce services: they carry hundreds.
inline constexpr std::size_t kAddressesMax = 8;

struct AddressChoice {
  std::vector<Address> usable;      // best first
  bool link_local_only = false;     // the best usable address is link-local; false without a usable address
  bool pending = false;             // a routable address is still in duplicate detection
  bool link_local_pending = false;  // a link-local address is in duplicate detection, and no address is usable
  bool passed_over = false;         // some address is deprecated, duplicate, of the wrong family or of unfit scope
};

// Order: IPv4, then IPv6 global, then IPv6 unique local; the kernel's order among equals.
// - Tentative, duplicate and deprecated addresses are skipped: the kernel does not use them either, or will stop soon.
// - IPv6 temporary addresses count only without a stable address: they vanish during a training run.
// - Link-local addresses count only without any other address: they are valid on one subnet only. Exception: without
//   another IPv6 address, the first IPv6 link-local address comes last. It distinguishes rails on one switch where ARP
//   of IPv4 mixes them up.
// - Loopback addresses count only on the loopback interface, and only if it has no routable address.
// - Link-local addresses of loopback and dummy interfaces never count: no peer is on such a link.
AddressChoice choose_addresses(const LinkFacts& link, const std::vector<AddressFacts>& all, AddressFamily family);

bool is_link_local(const Address& address);
// True if the address means the same on every host with a route to it: neither loopback nor link-local.
bool is_routable(const Address& address);

// Returns a choice with the addresses that a rail had before, whatever its interface has now.
AddressChoice chosen_before(const std::vector<Address>& addresses);

// True for the same address and scope, whatever the lengths of the prefixes.
bool same_host(const Address& a, const Address& b);

// True if the subnets of the two addresses, by their prefixes, are equal or one contains the other.
bool same_subnet(const Address& a, const Address& b);

}  // namespace railweave::discovery
