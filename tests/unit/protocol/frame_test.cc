#include "protocol/frame.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "railweave/units.h"

namespace railweave::protocol {
namespace {

using Bytes = std::array<std::byte, kFrameHeaderBytes>;

FrameHeader segment(std::uint64_t offset, std::uint32_t length, std::uint64_t size) {
  FrameHeader h;
  h.type = FrameType::segment;
  h.length = length;
  h.a = offset;
  h.b = size;
  return h;
}

std::string why_refused(const FrameHeader& h) {
  Bytes bytes;
  encode(h, bytes);
  const Result<FrameHeader> decoded = decode(bytes);
  if (decoded.ok()) return "accepted";
  EXPECT_EQ(decoded.status().code(), Code::remote);
  EXPECT_EQ(decoded.status().scope(), Scope::lane);
  EXPECT_TRUE(decoded.status().message().starts_with("malformed frame")) << decoded.status().message();
  return decoded.status().message();
}

TEST(Frame, decode__gives_back_every_field) {
  FrameHeader h;
  h.type = FrameType::grant;
  h.flags = 0x85;
  h.aux = 0x1234;
  h.stream = 0x23456789;
  h.length = 17;
  h.message = 0x0123456789abcdefull;
  h.a = 0xfedcba9876543210ull;
  h.b = 0x0f1e2d3c4b5a6978ull;
  h.consumed = 0xdeadbeef;
  h.sequence = 0xcafebabe;
  h.tag = 0x1122334455667788ull;
  h.payload_crc = 0x99aabbcc;
  h.type = FrameType::segment, h.flags = kFlagChecked, h.length = 17, h.a = 8, h.b = 99, h.waiting = 0x55667788;
  Bytes bytes;
  encode(h, bytes);
  Result<FrameHeader> d = decode(bytes);
  ASSERT_TRUE(d.ok()) << d.status().message();
  EXPECT_EQ(d->type, h.type);
  EXPECT_EQ(d->flags, h.flags);
  EXPECT_EQ(d->aux, h.aux);
  EXPECT_EQ(d->stream, h.stream);
  EXPECT_EQ(d->length, h.length);
  EXPECT_EQ(d->message, h.message);
  EXPECT_EQ(d->a, h.a);
  EXPECT_EQ(d->b, h.b);
  EXPECT_EQ(d->consumed, h.consumed);
  EXPECT_EQ(d->sequence, h.sequence);
  EXPECT_EQ(d->tag, h.tag);
  EXPECT_EQ(d->payload_crc, h.payload_crc);
  EXPECT_EQ(d->waiting, h.waiting);
  EXPECT_EQ(payload_crc_in(bytes), h.payload_crc);
}

TEST(Frame, encode__lays_the_bytes_out_as_documented) {
  FrameHeader h;
  h.type = FrameType::segment;
  h.flags = 0x02;
  h.aux = 0x0403;
  h.stream = 0x0c0b0a09;
  h.length = 0x100f0e0d;
  h.message = 0x1817161514131211ull;
  h.a = 0x201f1e1d1c1b1a19ull;
  h.b = 0x2827262524232221ull;
  h.consumed = 0x2c2b2a29;
  h.sequence = 0x302f2e2d;
  h.tag = 0x3837363534333231ull;
  h.payload_crc = 0x3c3b3a39;
  h.waiting = 0x403f3e3d;
  Bytes bytes;
  encode(h, bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i >= 4 && i < 8) continue;  // the CRC
    EXPECT_EQ(int(bytes[i]), int(i + 1)) << "byte " << i;
  }
  std::uint32_t crc;
  std::memcpy(&crc, bytes.data() + 4, 4);
  std::memset(bytes.data() + 4, 0, 4);
  EXPECT_EQ(crc, crc32c(bytes));
}

// Returns the frames of the exchange that docs/internals/protocol.md shows byte by byte.
std::vector<std::string> documented_frames() {
  std::ifstream page(std::string(RAILWEAVE_SOURCE_DIR) + "/docs/internals/protocol.md");
  std::vector<std::string> frames;
  for (std::string line; std::getline(page, line);) {
    const bool name = !line.empty() && line.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos;
    const bool bytes = line.size() == 47 && line.find_first_not_of("0123456789abcdef ") == std::string::npos;
    if (name) frames.push_back(line);
    if (bytes && !frames.empty()) frames.back() += "\n" + line;
  }
  return frames;
}

std::string shown(const FrameHeader& header) {
  Bytes bytes;
  encode(header, bytes);
  std::string text = name_of(header.type);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%c%02x", i % 16 == 0 ? '\n' : ' ', unsigned(bytes[i]));
    text += byte;
  }
  return text;
}

TEST(Frame, encode__is_what_the_documentation_shows) {
  FrameHeader open{.type = FrameType::open, .aux = 1, .a = 7, .b = 3};
  FrameHeader opened{.type = FrameType::opened, .flags = kFlagFromReceiver, .a = 3, .b = 16384, .consumed = 1};
  FrameHeader grant{.type = FrameType::grant, .flags = kFlagFromReceiver, .a = 1 << 20, .consumed = 1, .sequence = 1};
  FrameHeader data{
      .type = FrameType::segment, .length = 65536, .b = 100'000, .consumed = 2, .sequence = 1, .waiting = 34};
  FrameHeader ack{.type = FrameType::ack, .flags = kFlagFromReceiver, .message = 1, .consumed = 3, .sequence = 2};
  const std::vector<std::string> expected{shown(open), shown(opened), shown(grant), shown(data), shown(ack)};
  EXPECT_EQ(documented_frames(), expected);
}

TEST(Frame, decode__every_flipped_bit_is_seen) {
  Bytes bytes;
  encode(segment(128, 256, 1024), bytes);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    Bytes damaged = bytes;
    damaged[bit / 8] ^= std::byte(1 << bit % 8);
    const Result<FrameHeader> d = decode(damaged);
    ASSERT_FALSE(d.ok()) << "bit " << bit;
    EXPECT_NE(d.status().message().find("CRC"), std::string::npos);
  }
}

TEST(Frame, decode__a_payload_crc_goes_with_its_flag_and_with_payload) {
  FrameHeader h = segment(0, 128, 128);
  h.payload_crc = 7;
  EXPECT_NE(why_refused(h).find("not said to be checked"), std::string::npos);
  h.flags = kFlagChecked;
  EXPECT_EQ(why_refused(h), "accepted");
  h.payload_crc = 0;  // 0 is a CRC, too
  EXPECT_EQ(why_refused(h), "accepted");
  h.length = 0;
  h.b = 0;
  EXPECT_NE(why_refused(h).find("CRC of no payload"), std::string::npos);
}

TEST(Frame, payload_crc_in__is_there_with_the_flag) {
  FrameHeader h = segment(0, 128, 128);
  Bytes bytes;
  encode(h, bytes);
  EXPECT_FALSE(payload_crc_in(bytes));
  h.flags = kFlagChecked | kFlagEager;
  encode(h, bytes);
  EXPECT_EQ(payload_crc_in(bytes), 0u);
}

TEST(Frame, decode__only_a_segment_says_what_waits) {
  FrameHeader h = segment(0, 128, 128);
  h.waiting = ~std::uint32_t{0};
  EXPECT_EQ(why_refused(h), "accepted");
  for (int type = 2; type <= 13; ++type) {
    h = FrameHeader{.type = FrameType(type), .waiting = 1};
    EXPECT_NE(why_refused(h).find("with 1 in bytes 60 to 63, expected 0"), std::string::npos) << name_of(h.type);
  }
}

TEST(Frame, decode__unknown_types) {
  FrameHeader h;
  h.type = FrameType(0);
  EXPECT_NE(why_refused(h).find("type 0, expected 1..13"), std::string::npos);
  h.type = FrameType(14);
  EXPECT_NE(why_refused(h).find("type 14"), std::string::npos);
}

TEST(Frame, decode__rails_have_bits_in_masks) {
  FrameHeader h;
  h.type = FrameType::rails;
  h.aux = 63;
  EXPECT_EQ(why_refused(h), "accepted");
  h.aux = 64;
  EXPECT_NE(why_refused(h).find("RAILS with rail 64"), std::string::npos);
}

TEST(Frame, decode__a_lane_retires_or_serves) {
  FrameHeader h;
  h.type = FrameType::retire;
  for (h.b = 0; h.b <= 1; ++h.b) EXPECT_EQ(why_refused(h), "accepted");
  EXPECT_NE(why_refused(h).find("RETIRE that says 2"), std::string::npos);
}

TEST(Frame, decode__too_much_payload) {
  FrameHeader h;
  for (int type = 2; type <= 13; ++type) {
    h.type = FrameType(type);
    h.length = kControlPayloadBytesMax;
    EXPECT_EQ(why_refused(h), "accepted") << name_of(h.type);
    h.length = kControlPayloadBytesMax + 1;
    EXPECT_NE(why_refused(h).find(name_of(h.type)), std::string::npos) << name_of(h.type);
  }
  EXPECT_EQ(why_refused(segment(0, kSegmentBytesMax, kSegmentBytesMax)), "accepted");
  EXPECT_NE(why_refused(segment(0, kSegmentBytesMax + 1, MiB)).find("segment of 262145 bytes"), std::string::npos);
}

TEST(Frame, decode__segments_outside_their_message) {
  EXPECT_EQ(why_refused(segment(0, 0, 0)), "accepted");
  EXPECT_EQ(why_refused(segment(100, 28, 128)), "accepted");
  EXPECT_NE(why_refused(segment(100, 29, 128)).find("outside its message"), std::string::npos);
  EXPECT_NE(why_refused(segment(129, 1, 128)).find("outside its message"), std::string::npos);
  EXPECT_NE(why_refused(segment(~0ull, 2, 128)).find("outside its message"), std::string::npos);
  EXPECT_NE(why_refused(segment(0, 1, 0)).find("outside its message"), std::string::npos);
  EXPECT_NE(why_refused(segment(0, 0, 128)).find("empty segment"), std::string::npos);
  EXPECT_EQ(why_refused(segment(0, 1, kMessageBytesMax)), "accepted");
  EXPECT_NE(why_refused(segment(0, 1, kMessageBytesMax + 1)).find("2^40"), std::string::npos);
}

TEST(Frame, ack_in__a_grant_carries_it_however_late_it_comes) {
  FrameHeader h;
  h.type = FrameType::ack;
  h.message = 1'000'000'007;
  EXPECT_EQ(ack_in(h), 1'000'000'007u);
  h.type = FrameType::grant;
  for (const std::uint64_t ready : {0ull, 65535ull, 65536ull, 0x1'0000'fff0ull, 1ull << 40}) {
    for (const std::uint64_t ahead : {0ull, 1ull, 63ull, 127ull}) {
      h.message = ready + ahead;
      h.aux = std::uint16_t(ready);
      EXPECT_EQ(ack_in(h), ready) << ahead;
    }
  }
}

}  // namespace
}  // namespace railweave::protocol
