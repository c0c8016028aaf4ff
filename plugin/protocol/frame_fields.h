// The fields `aux`, `a`, `b` and `message` of a FrameHeader by name: one struct for each frame type. For each struct,
// of() reads a header of its type, and the conversion makes one. Of the plugin's other files only the codec (frame.h)
// touches `aux`, `a` and `b`.
//
// A struct holds what its frame says. The lane adds `consumed` and `sequence` (LaneLedger::take), and the payload's CRC
// where payload is checked. A field of a peer's frame may have any value, unless the field's comment names the bound
// that decode() checks.
// GOODBYE has no struct: its only content is the type.
//
// All functions are inline and allocate nothing: a field that is not read costs nothing.
// REQUIRES, for each of(): the header has the type.
#pragma once

#include <cassert>
#include <cstdint>

#include "protocol/completion.h"
#include "protocol/credit_window.h"
#include "protocol/frame.h"
#include "railweave/status.h"

namespace railweave::protocol {

using LaneId = std::uint16_t;

// Carries payload of a message.
struct SegmentFrame {
  StreamId stream = 0;
  std::uint32_t length = 0;  // bytes of payload; offset + length <= size
  std::uint64_t message = 0;
  std::uint64_t offset = 0;       // bytes, from the message's start to the payload
  std::uint64_t size = 0;         // bytes of the whole message; at most kMessageBytesMax
  std::uint64_t tag = 0;          // of the message, as given to post()
  bool eager = false;             // the message goes without a grant, and has a slot
  std::uint16_t eager_slot = 0;   // slot index, valid if `eager`
  std::uint32_t waiting_kib = 0;  // KiB, rounded up, that the sender's session has waiting behind this segment

  static constexpr SegmentFrame of(const FrameHeader& h) {
    assert(h.type == FrameType::segment);
    return {h.stream, h.length, h.message, h.a, h.b, h.tag, (h.flags & kFlagEager) != 0, h.aux, h.waiting};
  }
  constexpr operator FrameHeader() const {
    return {.type = FrameType::segment,
            .flags = std::uint8_t(eager ? kFlagEager : 0),
            .aux = eager_slot,
            .stream = stream,
            .length = length,
            .message = message,
            .a = offset,
            .b = size,
            .tag = tag,
            .waiting = waiting_kib};
  }
};

// The receiver states that a message may land.
struct GrantFrame {
  StreamId stream = 0;
  std::uint64_t message = 0;
  std::uint64_t capacity = 0;  // bytes that the receive takes
  // every message below is wholly received, as in an ACK; on the wire the low 16 bits (see ack_in)
  std::uint64_t acked = 0;

  static GrantFrame of(const FrameHeader& h) {
    assert(h.type == FrameType::grant);
    return {h.stream, h.message, h.a, ack_in(h)};
  }
  constexpr operator FrameHeader() const {
    return {.type = FrameType::grant,
            .flags = kFlagFromReceiver,
            .aux = std::uint16_t(acked),
            .stream = stream,
            .message = message,
            .a = capacity};
  }
};

// The receiver states that every message below `acked` is wholly received.
struct AckFrame {
  StreamId stream = 0;
  std::uint64_t acked = 0;

  static constexpr AckFrame of(const FrameHeader& h) {
    assert(h.type == FrameType::ack);
    return {h.stream, h.message};
  }
  constexpr operator FrameHeader() const {
    return {.type = FrameType::ack, .flags = kFlagFromReceiver, .stream = stream, .message = acked};
  }
};

// The sender states that a stream begins.
struct OpenFrame {
  StreamId stream = 0;
  std::uint16_t priority = 0;  // a Priority as a number; a peer may send any other number
  std::uint64_t listener = 0;
  std::uint64_t rail_mask = 0;  // the sender's rails that the stream uses: one bit for each

  static constexpr OpenFrame of(const FrameHeader& h) {
    assert(h.type == FrameType::open);
    return {h.stream, h.aux, h.a, h.b};
  }
  constexpr operator FrameHeader() const {
    return {.type = FrameType::open, .aux = priority, .stream = stream, .a = listener, .b = rail_mask};
  }
};

// The receiver's answer to OPEN.
struct OpenedFrame {
  StreamId stream = 0;
  std::uint64_t rail_mask = 0;         // the receiver's rails that the stream uses: one bit for each
  std::uint64_t eager_slot_bytes = 0;  // 0: only an empty message may be eager
  bool refused = false;                // the stream does not begin; the payload has the reason
  std::uint32_t length = 0;

  static constexpr OpenedFrame of(const FrameHeader& h) {
    assert(h.type == FrameType::opened);
    return {h.stream, h.a, h.b, (h.flags & kFlagRefused) != 0, h.length};
  }
  constexpr operator FrameHeader() const {
    return {.type = FrameType::opened,
            .flags = std::uint8_t(kFlagFromReceiver | (refused ? kFlagRefused : 0)),
            .stream = stream,
            .length = length,
            .a = rail_mask,
            .b = eager_slot_bytes};
  }
};

// From the sender: the stream has no messages from number `messages` on. From the receiver: it has all messages below,
// and takes no more.
struct CloseFrame {
  StreamId stream = 0;
  std::uint64_t messages = 0;
  bool from_receiver = false;

  static constexpr CloseFrame of(const FrameHeader& h) {
    assert(h.type == FrameType::close);
    return {h.stream, h.message, (h.flags & kFlagFromReceiver) != 0};
  }
  constexpr operator FrameHeader() const {
    return {.type = FrameType::close,
            .flags = std::uint8_t(from_receiver ? kFlagFromReceiver : 0),
            .stream = stream,
            .message = messages};
  }
};

// One end of a stream failed or was cancelled. The payload has the reason.
struct AbortFrame {
  StreamId stream = 0;
  Code code = Code::ok;  // a peer may send a number that is no Code
  bool from_receiver = false;
  std::uint32_t length = 0;

  static constexpr AbortFrame of(const FrameHeader& h) {
    assert(h.type == FrameType::abort);
    return {h.stream, Code(h.aux), (h.flags & kFlagFromReceiver) != 0, h.length};
  }
  constexpr operator FrameHeader() const {
    return {.type = FrameType::abort,
            .flags = std::uint8_t(from_receiver ? kFlagFromReceiver : 0),
            .aux = std::uint16_t(code),
            .stream = stream,
            .length = length};
  }
};

// States that the first `frames` frames of a lane are consumed, and that no more will be.
struct FenceFrame {
  LaneId lane = 0;
  std::uint64_t frames = 0;
  bool too_slow = false;  // the reason why the lane was given up

  static constexpr FenceFrame of(const FrameHeader& h) {
    assert(h.type == FrameType::fence);
    return {h.aux, h.a, h.b != 0};
  }
  constexpr operator FrameHeader() const {
    return {.type = FrameType::fence, .aux = lane, .a = frames, .b = std::uint64_t(too_slow ? 1 : 0)};
  }
};

// Carries `consumed`. Its payload is padding.
struct KeepFrame {
  std::uint32_t length = 0;
  bool answer_me = false;  // asks the receiver to send something on this lane

  static constexpr KeepFrame of(const FrameHeader& h) {
    assert(h.type == FrameType::keep);
    return {h.length, h.a == kKeepAnswerMe};
  }
  constexpr operator FrameHeader() const { return {.length = length, .a = answer_me ? kKeepAnswerMe : 0}; }
};

// States that a rail of the sender is new or changed; the payload describes the rail. Of two statements about a rail,
// the one of the higher edition holds.
struct RailsFrame {
  int rail = 0;  // index into the sender's list of rails; below kRailsMax
  std::uint64_t edition = 0;
  std::uint32_t length = 0;

  static constexpr RailsFrame of(const FrameHeader& h) {
    assert(h.type == FrameType::rails);
    return {h.aux, h.a, h.length};
  }
  constexpr operator FrameHeader() const {
    return {.type = FrameType::rails, .aux = std::uint16_t(rail), .length = length, .a = edition};
  }
};

// States that a lane takes no new frames while another lane is there, or that the lane serves again. Of two statements
// about a lane, the one of the higher edition holds.
struct RetireFrame {
  LaneId lane = 0;
  std::uint64_t edition = 0;
  std::uint64_t frames = 0;  // frames that the sender gave the lane so far
  bool retires = false;      // false: the lane serves again. On the wire: 1 or 0, nothing else

  static constexpr RetireFrame of(const FrameHeader& h) {
    assert(h.type == FrameType::retire);
    return {h.aux, h.a, h.message, h.b != 0};
  }
  constexpr operator FrameHeader() const {
    return {
        .type = FrameType::retire, .aux = lane, .message = frames, .a = edition, .b = std::uint64_t(retires ? 1 : 0)};
  }
};

// States how much may be sent by a lane. The frame's sender is the receiver on that lane. Of two statements about a
// lane, the one of the higher edition holds.
struct WindowFrame {
  LaneId lane = 0;
  std::uint64_t edition = 0;
  Credit credit;

  static constexpr WindowFrame of(const FrameHeader& h) {
    assert(h.type == FrameType::window);
    return {h.aux, h.a, {.window_bytes = h.message, .limit = h.b}};
  }
  constexpr operator FrameHeader() const {
    return {.type = FrameType::window, .aux = lane, .message = credit.window_bytes, .a = edition, .b = credit.limit};
  }
};

// Offset in its message of a SEGMENT's payload, in bytes; 0 for other types, whose payload belongs to no message.
constexpr std::uint64_t payload_offset(const FrameHeader& h) {
  return h.type == FrameType::segment ? SegmentFrame::of(h).offset : 0;
}

}  // namespace railweave::protocol
