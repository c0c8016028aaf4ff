#include "wire/verbs/gid.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/address_text.h"

namespace railweave::wire::verbs {
namespace {

constexpr std::array<std::uint8_t, 12> kMappedV4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_mapped_v4(const Gid& gid) { return std::equal(kMappedV4.begin(), kMappedV4.end(), gid.begin()); }

}  // namespace

Gid gid_of(const Address& address) {
  Gid gid{};
  if (address.family == Address::Family::v6) return address.bytes;
  std::ranges::copy(kMappedV4, gid.begin());
  std::copy_n(address.bytes.begin(), 4, gid.begin() + kMappedV4.size());
  return gid;
}

bool is_link_local(const Gid& gid) { return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80; }

std::string to_string(const Gid& gid) {
  Address address;
  if (is_mapped_v4(gid)) {
    std::copy_n(gid.begin() + kMappedV4.size(), 4, address.bytes.begin());
  } else {
    address.family = Address::Family::v6;
    address.bytes = gid;
  }
  return railweave::to_string(address);
}

std::optional<GidEntry> find_gid(std::span<const GidEntry> table, const RailIdentity& rail) {
  for (const Address& address : rail.addresses) {
    const Gid wanted = gid_of(address);
    if (is_link_local(wanted)) continue;
    for (const GidEntry& entry : table)
      if (entry.is_roce_v2 && entry.ifindex == rail.ifindex && entry.gid == wanted) return entry;
  }
  return std::nullopt;
}

std::optional<GidEntry> find_again(std::span<const GidEntry> table, const GidEntry& chosen) {
  for (const GidEntry& entry : table)
    if (entry.is_roce_v2 && entry.ifindex == chosen.ifindex && entry.port == chosen.port && entry.gid == chosen.gid)
      return entry;
  return std::nullopt;
}

std::string describe_missing(std::span<const GidEntry> table, const RailIdentity& rail, const std::string& device) {
  constexpr std::size_t kShown = 8;
  std::string wanted, found;
  for (const Address& address : rail.addresses)
    wanted += (wanted.empty() ? "" : " or ") + railweave::to_string(address);
  for (const GidEntry& entry : table.first(std::min(table.size(), kShown)))
    found += fmt::format("{}port {} index {} {} {} interface {}", found.empty() ? "" : ", ", entry.port, entry.index,
                         to_string(entry.gid), entry.is_roce_v2 ? "RoCE v2" : "not RoCE v2", entry.ifindex);
  if (table.size() > kShown) found += fmt::format(" and {} more", table.size() - kShown);
  return fmt::format("no GID for {} on {} (interface {}); {} has: {}", wanted, rail.name, rail.ifindex, device,
                     found.empty() ? "none" : found);
}

}  // namespace railweave::wire::verbs
