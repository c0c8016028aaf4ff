// The frame header: 64 bytes, little endian, the same for every type (docs/internals/protocol.md has the bytes and an
// example). A whole cache line, so that payload behind it stays aligned: with 48 bytes the kernel's copies took a
// quarter longer (docs/decisions/0006-header-of-a-cache-line.md).
//
//   0 type u8 | 1 flags u8 | 2 aux u16 | 4 crc u32 | 8 stream u32 | 12 length u32 | 16 message u64 | 24 a u64
//   32 b u64 | 40 consumed u32 | 44 sequence u32 | 48 tag u64 | 56 payload crc u32 | 60 waiting u32
//
// `length` bytes of payload follow. `crc` is CRC32C over the 64 bytes with this field zero. `consumed` counts the
// frames the header's sender has wholly consumed on this lane; `sequence` numbers this frame on its lane and direction,
// from 0. The payload's own CRC32C is there with the flag checked: whoever puts it on a lane says so, and who receives
// it looks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "railweave/status.h"

namespace railweave::protocol {

inline constexpr std::size_t kFrameHeaderBytes = 64;
inline constexpr std::uint32_t kSegmentBytesMax = 256 * 1024;
inline constexpr std::uint32_t kLineBytes = 128;  // segments split no line of NCCL's LL128
inline constexpr std::uint32_t kControlPayloadBytesMax = 1024;
inline constexpr int kRailsMax = 64;  // of one side: a mask has a bit for each
inline constexpr std::uint64_t kMessageBytesMax = std::uint64_t{1} << 40;

// What each type's fields mean: frame_fields.h.
// A new type needs: a line in docs/internals/protocol.md, a struct in frame_fields.h, a case in
// SessionProtocol::on_control, a seed in the frame fuzzer's corpus.
enum class FrameType : std::uint8_t {
  segment = 1,  // payload of a message
  grant = 2,    // receiver: a message may land, and so much of it may be sent. It is also an ACK
  ack = 3,      // receiver: every message below `message` is wholly received (a maximum)
  open = 4,     // sender: new stream
  opened = 5,   // receiver: OPEN answered. flag refused: payload says why
  close = 6,    // sender: messages below `message` are all there will be. flag from_receiver: it takes no more
  abort = 7,    // this end failed or was cancelled; payload says why. flag from_receiver
  fence = 8,    // so many frames of a lane are wholly consumed, none will be any more
  goodbye = 9,  // this instance leaves: it asks for nothing more and owes nothing
  keep = 10,    // carries `consumed` only, and may ask for an answer on this lane. A payload is padding
  rails = 11,   // a rail of the sender is as the payload says
  retire = 12,  // a lane takes no new frames while another lane is there, or serves again
  window = 13,  // how much the peer may send by a lane (docs/internals/credit_windows.md)
};

inline constexpr std::uint64_t kKeepAnswerMe = 1;  // `a` of a KEEP

enum FrameFlag : std::uint8_t {
  kFlagEager = 0x01,
  kFlagRefused = 0x02,
  kFlagChecked = 0x04,  // payload_crc is the payload's; else it is 0
  kFlagFromReceiver = 0x80,
};

struct FrameHeader {
  FrameType type = FrameType::keep;
  std::uint8_t flags = 0;
  std::uint16_t aux = 0;  // `aux`, `a` and `b` mean what the type says: frame_fields.h names them
  std::uint32_t stream = 0;
  std::uint32_t length = 0;
  std::uint32_t payload_crc = 0;
  std::uint64_t message = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint32_t consumed = 0;
  std::uint32_t sequence = 0;
  std::uint64_t tag = 0;
  std::uint32_t waiting = 0;  // of a SEGMENT; else 0
};

using HeaderBytes = std::span<std::byte, kFrameHeaderBytes>;
using ConstHeaderBytes = std::span<const std::byte, kFrameHeaderBytes>;

void encode(const FrameHeader& header, HeaderBytes out);

// Checks CRC, type and the bounds that hold for every session (lengths, offsets). Errors: Code::remote, Scope::lane.
Result<FrameHeader> decode(ConstHeaderBytes in);

// What arrived is what its sender wrote, whatever that is: else the way here altered it.
bool arrived_whole(ConstHeaderBytes in);

// The CRC that the payload is to have, of a header that decode() takes; none where nobody said.
std::optional<std::uint32_t> payload_crc_in(ConstHeaderBytes in);

const char* name_of(FrameType type);

// A statement of state: the peer may hear the frame late or twice (docs/internals/protocol.md). A KEEP counts for its
// own lane only.
constexpr bool is_statement(FrameType type) { return type != FrameType::segment && type != FrameType::keep; }

// What a GRANT or ACK acknowledges: every message below. A GRANT speaks of no message before the first incomplete one,
// and of few after it; so its 16 bits tell the number however late the frame comes.
std::uint64_t ack_in(const FrameHeader& grant_or_ack);

}  // namespace railweave::protocol
