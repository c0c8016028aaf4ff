#include "discovery/address_choice.h"

#include <algorithm>
#include <utility>

namespace railweave::discovery {
namespace {

enum class Reach { nowhere, loopback, link_local, unique_local, global };

Reach reach_v4(const std::array<std::uint8_t, 16>& b) {
  if (b[0] == 0 || b[0] >= 224) return Reach::nowhere;  // "this network"; multicast and reserved
  if (b[0] == 127) return Reach::loopback;
  if (b[0] == 169 && b[1] == 254) return Reach::link_local;
  return Reach::global;
}

Reach reach_v6(const std::array<std::uint8_t, 16>& b) {
  const bool high_zero = std::all_of(b.begin(), b.begin() + 10, [](std::uint8_t octet) { return octet == 0; });
  if (b[0] == 0xff) return Reach::nowhere;                                 // multicast
  if (high_zero && b[10] == 0xff && b[11] == 0xff) return Reach::nowhere;  // IPv4-mapped
  if (high_zero && std::all_of(b.begin() + 10, b.begin() + 15, [](std::uint8_t octet) { return octet == 0; })) {
    return b[15] == 1 ? Reach::loopback : Reach::nowhere;
  }
  if (b[0] == 0xfe && (b[1] & 0xc0) == 0x80) return Reach::link_local;
  if ((b[0] & 0xfe) == 0xfc) return Reach::unique_local;
  return Reach::global;
}

Reach reach(const Address& address) {
  return address.family == Address::Family::v4 ? reach_v4(address.bytes) : reach_v6(address.bytes);
}

// Ranks of addresses: smaller is better. kLinkLocal and above count only without a smaller rank.
constexpr int kTemporary = 3, kLinkLocal = 4, kLinkLocalV6 = 5, kLoopback = 6;

int rank(const AddressFacts& facts) {
  const Reach far = reach(facts.address);
  const bool v4 = facts.address.family == Address::Family::v4;
  if (far == Reach::link_local) return v4 ? kLinkLocal : kLinkLocalV6;
  if (far == Reach::loopback) return v4 ? kLoopback : kLoopback + 1;
  if (facts.temporary) return kTemporary;
  if (v4) return 0;
  return far == Reach::unique_local ? 2 : 1;
}

bool fits(const LinkFacts& link, Reach far) {
  if (far == Reach::loopback) return link.loopback;
  if (far == Reach::link_local) return !holds_addresses_only(link);
  return far != Reach::nowhere;
}

bool wanted(AddressFamily family, const Address& address) {
  if (family == AddressFamily::v4) return address.family == Address::Family::v4;
  if (family == AddressFamily::v6) return address.family == Address::Family::v6;
  return true;
}

}  // namespace

AddressChoice choose_addresses(const LinkFacts& link, const std::vector<AddressFacts>& all, AddressFamily family) {
  AddressChoice choice;
  std::vector<std::pair<int, Address>> ranked;
  bool link_local_tentative = false;
  for (const AddressFacts& facts : all) {
    if (facts.ifindex != link.ifindex) continue;
    const Reach far = reach(facts.address);
    if (!fits(link, far) || !wanted(family, facts.address) || facts.failed || facts.deprecated) {
      choice.passed_over = true;
    } else if (facts.tentative) {
      (far == Reach::link_local ? link_local_tentative : choice.pending) = true;
    } else {
      ranked.emplace_back(rank(facts), facts.address);
      if (far == Reach::link_local && facts.address.family == Address::Family::v6) {
        ranked.back().second.scope_id = static_cast<std::uint32_t>(link.ifindex);
      }
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [r, address] : ranked) {
    const bool first_ipv6 =
        address.family == Address::Family::v6 &&
        std::ranges::find(choice.usable, Address::Family::v6, &Address::family) == choice.usable.end();
    const bool last_resort = r >= kTemporary && ranked.front().first < std::min(r, kLinkLocal);
    const bool beside_ipv4 = r == kLinkLocalV6 && first_ipv6;
    if ((!last_resort || beside_ipv4) && choice.usable.size() < kAddressesMax) choice.usable.push_back(address);
  }
  choice.link_local_pending = link_local_tentative && ranked.empty();
  choice.link_local_only = !ranked.empty() && is_link_local(ranked.front().second);
  return choice;
}

bool is_link_local(const Address& address) { return reach(address) == Reach::link_local; }

bool is_routable(const Address& address) { return reach(address) >= Reach::unique_local; }

AddressChoice chosen_before(const std::vector<Address>& addresses) {
  const bool link_local =
      std::ranges::all_of(addresses, [](const Address& address) { return reach(address) == Reach::link_local; });
  return {.usable = addresses, .link_local_only = !addresses.empty() && link_local};
}

bool same_host(const Address& a, const Address& b) {
  return a.family == b.family && a.bytes == b.bytes && a.scope_id == b.scope_id;
}

bool same_subnet(const Address& a, const Address& b) {
  if (a.family != b.family) return false;
  const int bits = std::min(a.prefix_bits, b.prefix_bits);
  for (int bit = 0; bit < bits; bit += 8) {
    const int left = std::min(8, bits - bit);
    const auto mask = std::uint8_t(0xff00 >> left);
    if ((a.bytes[bit / 8] ^ b.bytes[bit / 8]) & mask) return false;
  }
  return true;
}

}  // namespace railweave::discovery
