// A message lane's offer in the handshake: the shape of this end's rings, and the address of its channel.
// docs/internals/message_wires.md has the bytes. Plain values. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "railweave/status.h"
#include "railweave/units.h"
#include "wire/message/channel.h"

namespace railweave::wire::message {

inline constexpr std::uint32_t kOfferVersion = 1;
inline constexpr std::uint32_t kSlotBytesLeast = 1 * KiB, kSlotBytesMost = 1 * MiB;
inline constexpr std::uint32_t kSlotsMost = 4096;  // RingCredit has the least

struct ChannelOffer {
  ChannelShape shape;
  std::vector<std::byte> address;  // at most kAddressBytesMax

  friend bool operator==(const ChannelOffer&, const ChannelOffer&) = default;
};

std::vector<std::byte> encode(const ChannelOffer& offer);
// Errors: Code::remote, naming the defect: another length or version, or a shape out of bounds.
Result<ChannelOffer> decode_offer(std::span<const std::byte> bytes);

}  // namespace railweave::wire::message
