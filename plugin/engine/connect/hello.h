// The handshake's messages, which two instances send on a new connection before it becomes a lane
// (docs/internals/protocol.md).
//
//   dialler → acceptor   first: begin a session, this is its lane 0 │ join: add a lane to a session
//   acceptor → dialler   welcome: agreed │ refused: the reason; then the connection is closed
//   dialler → acceptor   confirm: the welcome came, the lane is established; frames follow
//
// A message has 80 fixed bytes, then a body of at most 16 KiB. The body has the sender's rails (first, welcome, and a
// join that is a peer probe: peer_probe.h) or a reason (refused). A welcome and a confirm have padding behind the body,
// so that each fills two TCP segments. A path that loses large packets therefore fails the handshake.
// Plain values. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/connect/handle.h"
#include "railweave/device.h"
#include "railweave/status.h"

namespace railweave::engine {

inline constexpr std::size_t kHelloFixedBytes = 80;
inline constexpr std::size_t kHelloBodyBytesMax = 16 * 1024;
inline constexpr std::size_t kHelloPaddingBytesMax = 32 * 1024;  // of a welcome or a confirm, beyond the body's limit
inline constexpr std::uint16_t kHelloVersion = 3;
// Bits 0 and 1 are reserved.
inline constexpr std::uint64_t kFeatureEncrypt = 4;  // the sender's TCP lanes are TLS
inline constexpr std::uint64_t kFeatureOffers = 8;   // offers of wires follow the rails
inline constexpr std::size_t kWireNameMax = 15;
inline constexpr std::size_t kWireOfferBytesMax = 256;
inline constexpr std::size_t kWireOffersMax = 4;

// A rail as its owner describes it to peers.
struct PeerRail {
  std::string name;
  std::uint32_t speed_mbps = 0;
  std::vector<PeerAddress> addresses;  // each with the port at which the owner listens
  bool link_down = false;              // according to the owner's kernel
  friend bool operator==(const PeerRail&, const PeerRail&) = default;
};

// In a first or a join: a wire by which the lane may go (wire/port.h). In a welcome: the wire that the acceptor chose.
struct WireOffer {
  std::string wire;              // at most kWireNameMax characters
  std::vector<std::byte> bytes;  // data of the wire; at most kWireOfferBytesMax
  friend bool operator==(const WireOffer&, const WireOffer&) = default;
};

struct Hello {
  enum class Kind : std::uint16_t { first = 1, join = 2, welcome = 3, refused = 4, confirm = 5 };
  // Why a first or a join was refused, where the dialler must act on it. 5: retired, not to be used again.
  enum class Refusal : std::uint8_t {
    none = 0,             // no refusal; or one whose reason is for people only: the dialler may try again
    stranger = 1,         // the dialler meant another instance, does not know the session's secret, or sent nonsense
    crossing = 2,         // to a first: the acceptor dials the dialler, too, and the acceptor's dial stays
    duplicate = 3,        // to a first: the session exists; to a join: the session has had this lane
    unknown_session = 4,  // to a join: the acceptor has no such session
    encryption = 6,       // one end alone encrypts
    wire = 7              // the two ends have no wire in common
  };

  Kind kind = Kind::first;
  Refusal refusal = Refusal::none;
  std::uint16_t version = kHelloVersion;
  // kFeature... bits; a bit that the reader does not know is an error. `offers` set kFeatureOffers
  std::uint64_t features = 0;
  InstanceId from{}, to{};
  std::uint64_t session = 0;  // drawn by the dialler of the first lane
  std::uint16_t lane = 0;
  std::uint8_t local_rail = 0;   // index into the dialler's rails
  std::uint8_t remote_rail = 0;  // index into the acceptor's rails
  std::uint8_t traffic_class = 0;
  std::string peer;             // "host pid 123", for messages; at most 255 bytes
  std::vector<PeerRail> rails;  // at most 64
  std::string reason;           // of a refusal
  // at most kWireOffersMax, the preferred wire first; in a welcome one at most. None: the plain wire
  std::vector<WireOffer> offers;
  std::uint32_t padding_bytes = 0;  // zeroes at the end of a welcome or a confirm; at most kHelloPaddingBytesMax
};

// Encode and decode one rail as in the body. Bytes behind the rail are an error. Errors: Code::remote, naming the
// defect.
std::vector<std::byte> encode_rail(const PeerRail& rail);
Result<PeerRail> decode_rail(std::span<const std::byte> bytes);

// Returns the dialler's answer to a welcome.
Hello confirm_of(const Hello& welcome);

std::vector<std::byte> encode_hello(const Hello& hello);

// Returns the length of the whole message, from its fixed part. Errors: Code::remote for foreign bytes (random, HTTP),
// another version, unknown features, or a body that is too long.
Result<std::size_t> hello_bytes(std::span<const std::byte, kHelloFixedBytes> fixed);
// Decodes the whole message. REQUIRES: kHelloFixedBytes or more. Errors: Code::remote, naming the defect.
Result<Hello> decode_hello(std::span<const std::byte> message);

}  // namespace railweave::engine
