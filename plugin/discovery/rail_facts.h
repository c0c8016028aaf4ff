// Collects the facts about a rail that find_hazards() needs: the settings of its interface, and where its routes lead.
// Sends a few requests to the kernel (route_lookup.h), and blocks for the answers. Errors: none; a fact that the kernel
// does not provide stays empty. Threads: any.
#pragma once

#include "discovery/host_view.h"
#include "discovery/rail_hazards.h"
#include "railweave/device.h"

namespace railweave::discovery {

RailFacts rail_facts(const Rail& rail, const HostView& host);

// Returns an address for documentation (RFC 5737, RFC 3849). No subnet has such an address, so its route is the default
// route.
Address outside(Address::Family family);

}  // namespace railweave::discovery
