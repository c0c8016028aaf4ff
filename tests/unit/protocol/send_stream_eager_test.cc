#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "protocol/frame_fields.h"
#include "protocol/send_stream.h"
#include "tests/unit/protocol/pair.h"

namespace railweave::protocol {
namespace {

class SendStreamEagerTest : public ::testing::Test {
 protected:
  // A stream whose peer has slots of 64 KiB.
  void open(Priority priority) {
    stream = std::make_unique<SendStream>(0, priority, 1, ~0ull, 64 * KiB);
    FrameHeader h;
    std::span<const std::byte> payload;
    ASSERT_TRUE(stream->next_control(h, payload));
    ASSERT_TRUE(stream->on_opened(OpenedFrame{.rail_mask = ~0ull, .eager_slot_bytes = 64 * KiB}, "", done).ok());
  }
  void post(std::size_t bytes) { stream->post(requests[posted++], data.data(), bytes, done); }
  FrameHeader send() {
    const SendStream::Segment s = stream->cut(64 * KiB);
    stream->on_written(s.header, done);
    stream->on_released(s.header, done);
    return s.header;
  }
  bool ack(std::uint64_t below) { return stream->on_ack(AckFrame{.acked = below}, done).ok(); }

  std::vector<std::byte> data = std::vector<std::byte>(64 * KiB);
  Requests requests;
  std::size_t posted = 0;
  Completions done;
  std::unique_ptr<SendStream> stream;
};

// A process may exit when its eager messages are done, and loses the bytes that its kernel has not sent yet.
TEST_F(SendStreamEagerTest, post__beyond_the_eager_bytes_waits_for_a_grant_or_an_ack) {
  open(Priority::normal);
  for (const std::size_t bytes : {std::size_t{20'000}, std::size_t{20'000}, data.size()}) post(bytes);
  EXPECT_TRUE(send().flags & kFlagEager);
  EXPECT_FALSE(stream->has_segment()) << "40000 bytes in all";
  ASSERT_TRUE(ack(1));
  EXPECT_TRUE(send().flags & kFlagEager);
  EXPECT_FALSE(stream->has_segment());
  ASSERT_TRUE(ack(2));
  EXPECT_TRUE(send().flags & kFlagEager) << "longer than that, but alone";
  EXPECT_EQ(done.size(), 3u);
}

// Behind a full queue a grant would take as long as the message: urgent messages need none.
TEST_F(SendStreamEagerTest, post__of_an_urgent_stream_fills_all_slots_without_a_grant) {
  open(Priority::urgent);
  for (std::size_t i = 0; i <= kEagerSlots; ++i) post(data.size());
  for (std::size_t i = 0; i < kEagerSlots; ++i) EXPECT_TRUE(send().flags & kFlagEager) << i;
  EXPECT_EQ(done.size(), kEagerSlots);
  EXPECT_FALSE(stream->has_segment()) << "no slot is left";
  ASSERT_TRUE(ack(1));
  EXPECT_TRUE(send().flags & kFlagEager);
}

// The request is done and CLOSE was sent: only the receiver can still report that its receive is too small.
TEST_F(SendStreamEagerTest, on_grant__one_too_small_after_close_lets_data_go_again) {
  open(Priority::normal);
  post(100);
  const FrameHeader lost = send();
  stream->close(done);
  FrameHeader h;
  std::span<const std::byte> payload;
  ASSERT_TRUE(stream->next_control(h, payload));
  EXPECT_EQ(h.type, FrameType::close);
  ASSERT_TRUE(stream->on_grant(GrantFrame{.capacity = 99}, done).ok());
  stream->requeue(lost, true);
  ASSERT_TRUE(stream->has_segment());
  EXPECT_EQ(SegmentFrame::of(send()).size, 100u);
  EXPECT_FALSE(stream->gone());
  stream->on_peer_close(Status(Code::truncated, Scope::stream, "too long"), done);
  EXPECT_TRUE(stream->gone());
  ASSERT_EQ(done.size(), 1u);
  EXPECT_TRUE(done[0].status.ok());
}

}  // namespace
}  // namespace railweave::protocol
