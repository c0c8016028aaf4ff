// The address of a verbs channel, which travels in the offer: what the peer needs to connect its queue pair.
//
// | at | field |
// |---|---|
// | 0 | version u8: 1 |
// | 1 | path MTU u8: 1 to 5 for 256 to 4096 bytes (enum ibv_mtu) |
// | 2 | queue pair number u32, 24 bits |
// | 6 | first packet sequence number u32, 24 bits |
// | 10 | GID, 16 bytes |
// | 26 | GUID of the device u64, for log lines only |
//
// Numbers are little endian. Plain values. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "railweave/status.h"
#include "wire/verbs/gid.h"

namespace railweave::wire::verbs {

inline constexpr std::size_t kChannelAddressBytes = 34;
inline constexpr std::uint32_t kNumberMask = (1u << 24) - 1;  // of queue pairs and packets

struct ChannelAddress {
  std::uint8_t mtu = 0;           // enum ibv_mtu
  std::uint32_t qpn = 0;          // queue pair number
  std::uint32_t psn = 0;          // of the first packet that this end sends
  Gid gid{};                      // of this end's rail
  std::uint64_t device_guid = 0;  // 0: not known

  friend bool operator==(const ChannelAddress&, const ChannelAddress&) = default;
};

std::vector<std::byte> encode(const ChannelAddress& address);
// Errors: Code::remote, naming the field: another length or version, a number out of bounds, no GID.
Result<ChannelAddress> decode_address(std::span<const std::byte> bytes);

}  // namespace railweave::wire::verbs
