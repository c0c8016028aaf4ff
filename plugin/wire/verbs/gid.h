// Chooses the GID of a rail: the address under which an RDMA device sends the rail's packets. The GID that is chosen is
// of type RoCE v2, belongs to the rail's interface and equals one of the rail's addresses. Link-local GIDs are never
// chosen, because they reach one subnet only and several interfaces may have the same.
//
// Pure functions of a view of a GID table (gid_table.h reads one). Threads: any.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "railweave/device.h"

namespace railweave::wire::verbs {

using Gid = std::array<std::uint8_t, 16>;  // network order; IPv4 is ::ffff:a.b.c.d

struct GidEntry {
  Gid gid{};
  std::uint32_t port = 0;  // of the device, from 1
  std::uint32_t index = 0;
  bool is_roce_v2 = false;
  int ifindex = 0;  // of the interface that the GID belongs to; 0: not known
};

// What the wire knows of its rail.
struct RailIdentity {
  std::string name;
  int ifindex = 0;
  std::vector<Address> addresses;  // best first
};

Gid gid_of(const Address& address);
bool is_link_local(const Gid& gid);
std::string to_string(const Gid& gid);

// Returns the entry of the rail's best address that has one.
std::optional<GidEntry> find_gid(std::span<const GidEntry> table, const RailIdentity& rail);
// Returns the entry that has this GID now: its index may be another one than before.
std::optional<GidEntry> find_again(std::span<const GidEntry> table, const GidEntry& chosen);

// Returns "no GID for 10.0.0.1 on eth0 (interface 3); mlx5_0 has: port 1 index 0 fe80::1 RoCE v1 interface 3, ...".
std::string describe_missing(std::span<const GidEntry> table, const RailIdentity& rail, const std::string& device);

}  // namespace railweave::wire::verbs
