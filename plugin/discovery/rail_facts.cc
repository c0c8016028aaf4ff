#include "discovery/rail_facts.h"

#include <cstdint>

#include "discovery/route_lookup.h"

namespace railweave::discovery {
namespace {

// more than the rails of a host, because the host's own addresses may be the first of a subnet
constexpr std::uint32_t kNeighboursTried = 32;

// Returns the interface by which packets from `own` leave to the subnet of `own`; empty: not known.
std::string way_back(const Address& own) {
  if (own.prefix_bits < 1 || own.prefix_bits > 31) return {};
  const std::uint32_t size = std::uint32_t{1} << (32 - own.prefix_bits);
  std::uint32_t number = 0;
  for (int i = 0; i < 4; ++i) number = number << 8 | own.bytes[std::size_t(i)];
  const std::uint32_t first = number & ~(size - 1);
  const std::uint32_t low = size == 2 ? 0 : 1, end = size == 2 ? 2 : size - 1;  // skips network and broadcast address
  for (std::uint32_t host = low; host < end && host < kNeighboursTried; ++host) {
    Address neighbour = own;
    for (int i = 0; i < 4; ++i) neighbour.bytes[std::size_t(i)] = std::uint8_t((first + host) >> (24 - 8 * i));
    const RouteAnswer answer = find_route({neighbour, own, 0});
    if (!answer.interface.empty()) return answer.interface;  // empty for this host's own address: try the next
  }
  return {};
}

}  // namespace

Address outside(Address::Family family) {
  Address address;
  address.family = family;
  if (family == Address::Family::v4)
    address.bytes = {192, 0, 2, 1};
  else
    address.bytes = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return address;
}

RailFacts rail_facts(const Rail& rail, const HostView& host) {
  RailFacts facts;
  facts.settings = interface_settings(host, rail.name);
  for (const Address& source : rail.addresses) {
    if (rail.loopback || rail.by_routes || source.family != Address::Family::v4) continue;
    facts.way_back = way_back(source);
    const RouteAnswer out = find_route({outside(source.family), source, rail.ifindex});
    if (out.kind == RouteAnswer::Kind::elsewhere) facts.way_out = out.interface;
    facts.way_back_beyond = find_route({outside(source.family), source, 0}).interface;
    break;
  }
  return facts;
}

}  // namespace railweave::discovery
