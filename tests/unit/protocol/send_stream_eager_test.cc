#include <gtest/gtest.h>

#include <vector>

#include "protocol/send_stream.h"
#include "tests/unit/protocol/pair.h"

namespace railweave::protocol {
namespace {

// A process may exit when its eager messages are done: what the kernel could not send at once would be lost.
TEST(SendingEagerly, post__beyond_what_is_on_its_way_waits_for_its_grant_or_an_ack) {
  SendStream stream(0, Class::normal, 1, ~0ull, 64 * KiB);
  FrameHeader h;
  std::span<const std::byte> payload;
  ASSERT_TRUE(stream.next_control(h, payload));
  h = {};
  h.type = FrameType::opened;
  h.a = ~0ull;
  h.b = 64 * KiB;
  Completions done;
  ASSERT_TRUE(stream.on_opened(h, "", done).ok());
  std::vector<std::byte> data(64 * KiB);
  Tickets tickets;
  for (std::size_t i = 0; i < 3; ++i) stream.post(tickets[i], data.data(), i == 2 ? data.size() : 20'000, done);
  const auto send = [&] {
    const SendStream::Segment s = stream.cut(64 * KiB);
    stream.on_written(s.header, done);
    stream.on_released(s.header, done);
    return s.header;
  };
  const auto ack = [&](std::uint64_t below) {
    FrameHeader a;
    a.type = FrameType::ack;
    a.message = below;
    return stream.on_ack(a, done).ok();
  };
  EXPECT_TRUE(send().flags & kFlagEager);
  EXPECT_FALSE(stream.has_segment()) << "40000 bytes in all";
  ASSERT_TRUE(ack(1));
  EXPECT_TRUE(send().flags & kFlagEager);
  EXPECT_FALSE(stream.has_segment());
  ASSERT_TRUE(ack(2));
  EXPECT_TRUE(send().flags & kFlagEager) << "longer than that, but alone";
  EXPECT_EQ(done.size(), 3u);
}

}  // namespace
}  // namespace railweave::protocol
