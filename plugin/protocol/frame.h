// The frame header: 64 bytes, little endian, the same for every type. docs/internals/protocol.md has the bytes and an
// example. The header fills a cache line, so that the payload behind it stays aligned. With 48 bytes the kernel's
// copies took a quarter longer (docs/decisions/0006-header-of-a-cache-line.md).
//
//   0 type u8 | 1 flags u8 | 2 aux u16 | 4 crc u32 | 8 stream u32 | 12 length u32 | 16 message u64 | 24 a u64
//   32 b u64 | 40 consumed u32 | 44 sequence u32 | 48 tag u64 | 56 payload crc u32 | 60 waiting u32
//
// `length` bytes of payload follow. `crc` is the CRC32C of the 64 bytes with this field zero. `consumed` counts the
// frames that the header's sender has wholly consumed on this lane. `sequence` numbers this frame on its lane and
// direction, from 0. `payload crc` is the payload's CRC32C if the flag kFlagChecked is set. The sender decides to set
// the flag, and the receiver checks each payload that has it.
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
inline constexpr std::uint32_t kLineBytes = 128;  // bytes; segments split no line of NCCL's LL128 protocol
inline constexpr std::uint32_t kControlPayloadBytesMax = 1024;
inline constexpr int kRailsMax = 64;  // per side; a rail mask has one bit for each
inline constexpr std::uint64_t kMessageBytesMax = std::uint64_t{1} << 40;

// frame_fields.h explains the fields of each type. A new type needs: a line in docs/internals/protocol.md, a struct in
// frame_fields.h, a case in SessionProtocol::on_control, a seed in the frame fuzzer's corpus.
enum class FrameType : std::uint8_t {
  segment = 1,  // payload of a message
  grant = 2,    // receiver: a message may land, in a receive of so many bytes. A GRANT is also an ACK
  ack = 3,      // receiver: every message below `message` is wholly received; the highest ACK holds
  open = 4,     // sender: begins a stream
  opened = 5,   // receiver: answers OPEN. Flag refused: the payload has the reason
  close = 6,    // sender: messages below `message` are all. Flag from_receiver: the receiver takes no more messages
  abort = 7,    // this end failed or was cancelled; the payload has the reason. Flag from_receiver: by the receiver
  fence = 8,    // so many frames of a lane are wholly consumed, and no more will be
  goodbye = 9,  // this instance leaves: it asks for nothing more and owes nothing
  keep = 10,    // carries `consumed` only, and may ask for an answer on this lane. A payload is padding
  rails = 11,   // a rail of the sender is new or changed; the payload describes it
  retire = 12,  // a lane takes no new frames while another lane is there; or the lane serves again
  window = 13,  // how much the peer may send by a lane (docs/internals/credit_windows.md)
};

inline constexpr std::uint64_t kKeepAnswerMe = 1;  // `a` of a KEEP that asks for an answer

enum FrameFlag : std::uint8_t {
  kFlagEager = 0x01,
  kFlagRefused = 0x02,
  kFlagChecked = 0x04,  // payload_crc is the payload's CRC; else it is 0
  kFlagFromReceiver = 0x80,
};

struct FrameHeader {
  FrameType type = FrameType::keep;
  std::uint8_t flags = 0;
  std::uint16_t aux = 0;  // frame_fields.h names the meaning of `aux`, `a` and `b` for each type
  std::uint32_t stream = 0;
  std::uint32_t length = 0;
  std::uint32_t payload_crc = 0;
  std::uint64_t message = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint32_t consumed = 0;
  std::uint32_t sequence = 0;
  std::uint64_t tag = 0;
  std::uint32_t waiting = 0;  // SEGMENT: KiB waiting behind it; else 0
};

using HeaderBytes = std::span<std::byte, kFrameHeaderBytes>;
using ConstHeaderBytes = std::span<const std::byte, kFrameHeaderBytes>;

// Writes the 64 bytes of `header`, its CRC included.
void encode(const FrameHeader& header, HeaderBytes out);

// Checks CRC, type and the bounds that hold for every session (lengths, offsets). Errors: Code::remote, Scope::lane.
Result<FrameHeader> decode(ConstHeaderBytes in);

// True: the header arrived as its sender wrote it, valid or not. False: the header was altered on the way.
bool arrived_whole(ConstHeaderBytes in);

// The CRC that the payload must have; none if the sender sent no CRC. REQUIRES: decode() accepts the header.
std::optional<std::uint32_t> payload_crc_in(ConstHeaderBytes in);

const char* name_of(FrameType type);

// A statement of state: a frame that may arrive late or twice without harm (docs/internals/protocol.md). A KEEP is not
// one: it counts for its own lane only.
constexpr bool is_statement(FrameType type) { return type != FrameType::segment && type != FrameType::keep; }

// The number below which a GRANT or ACK acknowledges every message. A GRANT names no message before the first
// incomplete one, and only a few after it. So its 16 bits determine the number, however late the frame arrives.
std::uint64_t ack_in(const FrameHeader& grant_or_ack);

}  // namespace railweave::protocol
