// The handshake's messages: what two instances say on a new connection before it becomes a lane
// (docs/internals/protocol.md).
//
//   dialler → acceptor   first: begin a session, this is its lane 0 │ join: add a lane to a session
//   acceptor → dialler   welcome: the lane may stand │ refused: why, then the connection is closed
//   dialler → acceptor   confirm: the welcome came, the lane stands; frames follow
//
// 80 fixed bytes, then a body of at most 16 KiB: the sender's rails (first, welcome, and a join that asks whether the
// session is still served: peer_probe.h) or a reason (refused). A welcome and a confirm have padding behind the body,
// so that each fills two TCP segments: a path that loses large packets fails the handshake. Plain values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/connect/handle.h"
#include "railweave/device.h"
#include "railweave/status.h"

namespace railweave::engine {

inline constexpr std::size_t kHelloFixedBytes = 80;
inline constexpr std::size_t kHelloBodyBytesMax = 16 * 1024;
inline constexpr std::size_t kHelloPaddingBytesMax = 32 * 1024;  // of a welcome or a confirm, besides
inline constexpr std::uint16_t kHelloVersion = 3;
// Bits 0 and 1 are reserved.
inline constexpr std::uint64_t kFeatureEncrypt = 4;  // its sender's TCP lanes are TLS
inline constexpr std::uint64_t kFeatureOffer = 8;    // a wire's offer is behind the rails
inline constexpr std::size_t kWireNameMax = 15;
inline constexpr std::size_t kWireOfferBytesMax = 256;

// A rail as the peer needs to know it.
struct PeerRail {
  std::string name;
  std::uint32_t speed_mbps = 0;
  std::vector<PeerAddress> addresses;  // with the port its owner listens on
  bool link_down = false;              // its owner's kernel says so
  friend bool operator==(const PeerRail&, const PeerRail&) = default;
};

// first, join: the wire by which the dialler would have the lane go (wire/port.h). welcome: the same wire, if the
// acceptor has it.
struct WireOffer {
  std::string wire;              // at most kWireNameMax characters
  std::vector<std::byte> bytes;  // the wire's own; at most kWireOfferBytesMax
  friend bool operator==(const WireOffer&, const WireOffer&) = default;
};

struct Hello {
  enum class Kind : std::uint16_t { first = 1, join = 2, welcome = 3, refused = 4, confirm = 5 };
  // Why a first or a join was refused, where the dialler must act on it.
  // 5 is reserved
  enum class Refusal : std::uint8_t {
    none = 0,
    stranger = 1,
    crossing = 2,
    duplicate = 3,
    unknown_session = 4,
    encryption = 6
  };

  Kind kind = Kind::first;
  Refusal refusal = Refusal::none;
  std::uint16_t version = kHelloVersion;
  // kFeature...; a bit the reader does not know is refused by number. kFeatureOffer is set by `offer`
  std::uint64_t features = 0;
  InstanceId from{}, to{};
  std::uint64_t session = 0;  // drawn by the dialler of the first lane
  std::uint16_t lane = 0;
  std::uint8_t local_rail = 0;   // the dialler's rail
  std::uint8_t remote_rail = 0;  // the acceptor's
  std::uint8_t traffic_class = 0;
  std::string peer;                 // "host pid 123", for messages; at most 255 bytes
  std::vector<PeerRail> rails;      // at most 64
  std::string reason;               // refused
  std::optional<WireOffer> offer;   // sets kFeatureOffer; none: the plain wire, whose lane is the connection
  std::uint32_t padding_bytes = 0;  // welcome, confirm: zeroes at the end; at most kHelloPaddingBytesMax
};

// One rail as the body has it; what follows it is an error. Errors: Code::remote, saying what is wrong with it.
std::vector<std::byte> encode_rail(const PeerRail& rail);
Result<PeerRail> decode_rail(std::span<const std::byte> bytes);

// What the dialler answers to a welcome.
Hello confirm_of(const Hello& welcome);

std::vector<std::byte> encode_hello(const Hello& hello);

// Bytes that the whole message has, once its fixed part is there. Errors: Code::remote; not ours (random bytes, HTTP),
// another version, unknown features, a body too long.
Result<std::size_t> hello_bytes(std::span<const std::byte, kHelloFixedBytes> fixed);
// Decodes the whole message. Errors: Code::remote, saying what is wrong with it.
Result<Hello> decode_hello(std::span<const std::byte> message);

}  // namespace railweave::engine
