// The named fields of each type of frame lie in the header where docs/internals/protocol.md says.
#include "protocol/frame_fields.h"

#include <gtest/gtest.h>

#include <array>

namespace railweave::protocol {
namespace {

using Bytes = std::array<std::byte, kFrameHeaderBytes>;

Bytes bytes_of(const FrameHeader& header) {
  Bytes bytes;
  encode(header, bytes);
  return bytes;
}

// Asserts that `named` is encoded as `header` is, byte by byte, and that `header` is read as `named`.
template <class Frame>
void expect_same(const Frame& named, const FrameHeader& header) {
  EXPECT_EQ(bytes_of(named), bytes_of(header)) << name_of(header.type);
  EXPECT_EQ(bytes_of(Frame::of(header)), bytes_of(header)) << name_of(header.type);
}

TEST(FrameFields, of__every_type_has_its_fields_where_the_documentation_says) {
  expect_same(
      SegmentFrame{
          .stream = 1, .length = 2, .message = 3, .offset = 4, .size = 50, .tag = 6, .eager = true, .eager_slot = 7},
      {.type = FrameType::segment,
       .flags = kFlagEager,
       .aux = 7,
       .stream = 1,
       .length = 2,
       .message = 3,
       .a = 4,
       .b = 50,
       .tag = 6});
  expect_same(SegmentFrame{.stream = 1, .length = 2, .size = 50},
              {.type = FrameType::segment, .stream = 1, .length = 2, .b = 50});
  expect_same(GrantFrame{.stream = 1, .message = 70'003, .capacity = 5, .acked = 70'000}, {.type = FrameType::grant,
                                                                                           .flags = kFlagFromReceiver,
                                                                                           .aux = 70'000 - 65'536,
                                                                                           .stream = 1,
                                                                                           .message = 70'003,
                                                                                           .a = 5});
  expect_same(AckFrame{.stream = 1, .acked = 2},
              {.type = FrameType::ack, .flags = kFlagFromReceiver, .stream = 1, .message = 2});
  expect_same(OpenFrame{.stream = 1, .priority = 2, .listener = 3, .rail_mask = 4},
              {.type = FrameType::open, .aux = 2, .stream = 1, .a = 3, .b = 4});
  expect_same(OpenedFrame{.stream = 1, .rail_mask = 2, .eager_slot_bytes = 3},
              {.type = FrameType::opened, .flags = kFlagFromReceiver, .stream = 1, .a = 2, .b = 3});
  expect_same(OpenedFrame{.stream = 1, .refused = true, .length = 4},
              {.type = FrameType::opened, .flags = kFlagFromReceiver | kFlagRefused, .stream = 1, .length = 4});
  expect_same(CloseFrame{.stream = 1, .messages = 2}, {.type = FrameType::close, .stream = 1, .message = 2});
  expect_same(CloseFrame{.stream = 1, .messages = 2, .from_receiver = true},
              {.type = FrameType::close, .flags = kFlagFromReceiver, .stream = 1, .message = 2});
  expect_same(AbortFrame{.stream = 1, .code = Code::truncated, .length = 2},
              {.type = FrameType::abort, .aux = std::uint16_t(Code::truncated), .stream = 1, .length = 2});
  expect_same(AbortFrame{.stream = 1, .code = Code(65'535), .from_receiver = true},
              {.type = FrameType::abort, .flags = kFlagFromReceiver, .aux = 65'535, .stream = 1});
  expect_same(FenceFrame{.lane = 1, .frames = 2}, {.type = FrameType::fence, .aux = 1, .a = 2});
  expect_same(FenceFrame{.lane = 1, .frames = 2, .too_slow = true},
              {.type = FrameType::fence, .aux = 1, .a = 2, .b = 1});
  expect_same(KeepFrame{}, {.type = FrameType::keep});
  expect_same(KeepFrame{.length = 1, .answer_me = true}, {.type = FrameType::keep, .length = 1, .a = 1});
  expect_same(RailsFrame{.rail = 1, .edition = 2, .length = 3},
              {.type = FrameType::rails, .aux = 1, .length = 3, .a = 2});
  expect_same(RetireFrame{.lane = 1, .edition = 2, .frames = 3, .retires = true},
              {.type = FrameType::retire, .aux = 1, .message = 3, .a = 2, .b = 1});
  expect_same(WindowFrame{.lane = 1, .edition = 2, .credit = {.window_bytes = 3, .limit = 4}},
              {.type = FrameType::window, .aux = 1, .message = 3, .a = 2, .b = 4});
  expect_same(WindowFrame{}, {.type = FrameType::window, .message = ~0ull, .b = ~0ull});
  expect_same(RetireFrame{.lane = 1, .edition = 2, .frames = 3},
              {.type = FrameType::retire, .aux = 1, .message = 3, .a = 2});
}

TEST(FrameFields, of__an_open_with_an_unknown_priority_keeps_the_number) {
  EXPECT_EQ(OpenFrame::of({.type = FrameType::open, .aux = 256}).priority, 256);
}

TEST(FrameFields, payload_offset__only_segments_have_one) {
  EXPECT_EQ(payload_offset(SegmentFrame{.length = 1, .offset = 128, .size = 129}), 128u);
  EXPECT_EQ(payload_offset(RailsFrame{.edition = 5, .length = 1}), 0u);
}

}  // namespace
}  // namespace railweave::protocol
