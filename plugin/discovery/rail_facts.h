// Asks this host what find_hazards() wants to know of a rail: settings of its interface, and where its routes lead. A
// few requests to the kernel (route_lookup.h); nothing fails, what is not told is left empty. Threads: any.
#pragma once

#include "discovery/host_view.h"
#include "discovery/rail_hazards.h"
#include "railweave/device.h"

namespace railweave::discovery {

RailFacts rail_facts(const Rail& rail, const HostView& host);

// An address of documentation (RFC 5737, RFC 3849): it is in no subnet, so the route to it is the default route.
Address outside(Address::Family family);

}  // namespace railweave::discovery
