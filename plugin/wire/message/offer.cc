#include "wire/message/offer.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.h"
#include "wire/message/ring_credit.h"

namespace railweave::wire::message {
namespace {

using Words = std::array<std::uint32_t, 3>;  // version, slot_bytes, receive_slots

Status malformed(const std::string& what) { return Status(Code::remote, Scope::lane, "malformed offer: " + what); }

Status check(const char* name, std::uint32_t found, std::uint32_t least, std::uint32_t most) {
  if (found >= least && found <= most) return {};
  return malformed(fmt::format("{} {}, expected {} to {}", name, found, least, most));
}

}  // namespace

std::vector<std::byte> encode(const ChannelOffer& offer) {
  assert(offer.address.size() <= kAddressBytesMax);
  const Words words{kOfferVersion, offer.shape.slot_bytes, offer.shape.receive_slots};
  std::vector<std::byte> bytes(sizeof words + offer.address.size());
  std::memcpy(bytes.data(), words.data(), sizeof words);
  if (!offer.address.empty()) std::memcpy(bytes.data() + sizeof words, offer.address.data(), offer.address.size());
  return bytes;
}

Result<ChannelOffer> decode_offer(std::span<const std::byte> bytes) {
  Words words;
  if (bytes.size() < sizeof words || bytes.size() > sizeof words + kAddressBytesMax)
    return malformed(
        fmt::format("{} bytes, expected {} to {}", bytes.size(), sizeof words, sizeof words + kAddressBytesMax));
  std::memcpy(words.data(), bytes.data(), sizeof words);
  const auto [version, slot_bytes, receive_slots] = words;
  RW_TRY(check("version", version, kOfferVersion, kOfferVersion));
  RW_TRY(check("slot size", slot_bytes, kSlotBytesLeast, kSlotBytesMost));
  RW_TRY(check("number of slots", receive_slots, RingCredit::kSlotsLeast, kSlotsMost));
  const auto address = bytes.subspan(sizeof words);
  return ChannelOffer{{slot_bytes, receive_slots}, {address.begin(), address.end()}};
}

}  // namespace railweave::wire::message
