// The address of a channel in a lane's offer.
//
//   version u8 | token u32, little endian | length of the provider's name u8 | the provider's name | endpoint's name
//
// Each block to an endpoint carries the endpoint's token. An endpoint takes blocks from anyone, and another endpoint
// may have had its address before. A block without the token is therefore not the peer's. The token is no secret.
// Endpoints of different providers do not understand each other, so the provider's name is compared.
// Plain values. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "railweave/status.h"
#include "wire/message/channel.h"

namespace railweave::wire::ofi {

inline constexpr std::size_t kNameBytesMax = 64, kProviderBytesMax = 48;
static_assert(6 + kProviderBytesMax + kNameBytesMax <= message::kAddressBytesMax);

struct PeerAddress {
  std::uint32_t token = 0;
  std::string provider;         // a longer name than kProviderBytesMax is cut
  std::vector<std::byte> name;  // of the endpoint, as libfabric knows it; not empty, at most kNameBytesMax
};

std::vector<std::byte> encode(const PeerAddress& address);

// `own`: the address of this end. The peer's is of the same kind. `format`: fi_info::addr_format of the endpoint.
// Errors: Code::remote, naming the defect: another length, version, provider or address family.
Result<PeerAddress> decode_address(std::span<const std::byte> bytes, const PeerAddress& own, std::uint32_t format);

}  // namespace railweave::wire::ofi
