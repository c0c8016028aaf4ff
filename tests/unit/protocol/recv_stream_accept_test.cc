// RecvStream before it is accepted, and accepted without eager slots.
#include <gtest/gtest.h>

#include "protocol/recv_stream.h"

namespace railweave::protocol {
namespace {

class RecvStreamAcceptTest : public ::testing::Test {
 protected:
  static FrameHeader eager(std::uint64_t size) {
    return SegmentFrame{.stream = 9, .length = std::uint32_t(size), .size = size, .eager = true};
  }

  Completions done_;
  RecvStream stream_{9, 1024};
};

TEST_F(RecvStreamAcceptTest, accept__a_segment_that_comes_before_contradicts) {
  EXPECT_FALSE(stream_.on_segment(eager(10), done_).ok());
  stream_.accept(~0ull);
  EXPECT_TRUE(stream_.on_segment(eager(10), done_).ok());
}

TEST_F(RecvStreamAcceptTest, accept__without_slots_it_offers_none_and_takes_none) {
  stream_.accept(~0ull, false);
  FrameHeader h;
  std::span<const std::byte> payload;
  ASSERT_TRUE(stream_.next_control(h, payload));
  ASSERT_EQ(h.type, FrameType::opened);
  EXPECT_EQ(OpenedFrame::of(h).eager_slot_bytes, 0u);
  EXPECT_FALSE(stream_.on_segment(eager(10), done_).ok());
  EXPECT_TRUE(stream_.on_segment(eager(0), done_).ok());  // an empty message needs no room
}

}  // namespace
}  // namespace railweave::protocol
