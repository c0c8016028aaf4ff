#include "protocol/send_stream.h"

#include <gtest/gtest.h>

#include <random>

#include "protocol/frame_fields.h"
#include "tests/unit/protocol/pair.h"

namespace railweave::protocol {
namespace {

constexpr std::size_t kEager = 1024;

class SendStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FrameHeader open;
    std::span<const std::byte> payload;
    ASSERT_TRUE(stream_.next_control(open, payload));
    ASSERT_EQ(open.type, FrameType::open);
    ASSERT_TRUE(stream_.on_opened(opened(), "", done_).ok());
  }

  static FrameHeader opened(std::uint64_t slot_bytes = kEager) {
    return OpenedFrame{.rail_mask = ~0ull, .eager_slot_bytes = slot_bytes};
  }
  static FrameHeader grant(std::uint64_t message, std::uint64_t capacity, std::uint64_t acked = 0) {
    return GrantFrame{.message = message, .capacity = capacity, .acked = acked};
  }
  static FrameHeader ack(std::uint64_t below) { return AckFrame{.acked = below}; }

  void post(std::size_t bytes) {
    data_.push_back(pattern(bytes, std::uint32_t(data_.size())));
    stream_.post(requests_[data_.size() - 1], data_.back().data(), bytes, done_);
  }
  // Cuts one segment, which its lane writes and releases.
  SendStream::Segment send(std::uint32_t bytes_max = 64 * KiB) {
    SendStream::Segment s = stream_.cut(bytes_max);
    stream_.on_written(s.header, done_);
    stream_.on_released(s.header, done_);
    return s;
  }
  // Sends one eager message, from post to acknowledgement.
  void send_eager(std::size_t bytes) {
    post(bytes);
    const SendStream::Segment s = send();
    EXPECT_TRUE(s.header.flags & kFlagEager);
    EXPECT_TRUE(stream_.on_ack(ack(s.header.message + 1), done_).ok());
  }
  std::vector<FrameType> control() {
    std::vector<FrameType> types;
    FrameHeader h;
    std::span<const std::byte> payload;
    while (stream_.next_control(h, payload)) types.push_back(h.type);
    return types;
  }

  Completions done_;
  Requests requests_;
  std::deque<std::vector<std::byte>> data_;
  SendStream stream_{3, Priority::normal, 7, ~0ull, kEager};
};

// ------------------------------------------------------------------------------------------------------------- eager

TEST_F(SendStreamTest, post__a_small_message_goes_at_once_and_is_done_when_written) {
  post(100);
  ASSERT_TRUE(stream_.has_segment());
  EXPECT_EQ(stream_.sendable_bytes(), 100u);
  const SendStream::Segment s = stream_.cut(64 * KiB);
  EXPECT_TRUE(s.header.flags & kFlagEager);
  EXPECT_EQ(s.header.length, 100u);
  EXPECT_EQ(SegmentFrame::of(s.header).size, 100u);
  EXPECT_EQ(std::memcmp(s.payload.data(), data_[0].data(), 100), 0);
  EXPECT_TRUE(done_.empty());
  stream_.on_written(s.header, done_);
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_EQ(done_[0].request, requests_[0]);
  EXPECT_EQ(done_[0].bytes, 100u);
}

TEST_F(SendStreamTest, cut__an_eager_message_in_pieces_is_done_when_all_are_written) {
  post(300);
  const SendStream::Segment first = stream_.cut(128);
  EXPECT_EQ(first.header.length, 128u);
  EXPECT_EQ(stream_.sendable_bytes(), 172u);
  std::ranges::fill(data_[0], std::byte{0});  // all of it was copied
  const SendStream::Segment second = stream_.cut(256);
  EXPECT_TRUE(first.header.flags & second.header.flags & kFlagEager);
  EXPECT_EQ(SegmentFrame::of(second.header).offset, 128u);
  EXPECT_EQ(second.header.length, 172u);
  EXPECT_EQ(SegmentFrame::of(second.header).eager_slot, SegmentFrame::of(first.header).eager_slot);
  EXPECT_EQ(second.payload.data(), first.payload.data() + 128);
  EXPECT_FALSE(stream_.has_segment());
  stream_.on_written(second.header, done_);
  EXPECT_EQ(done_.size(), 0u);
  stream_.on_written(first.header, done_);
  EXPECT_EQ(done_.size(), 1u);
}

TEST_F(SendStreamTest, post__eager_bytes_are_the_streams_own_copy) {
  post(100);
  const SendStream::Segment s = stream_.cut(64 * KiB);
  const auto before = data_[0];
  std::ranges::fill(data_[0], std::byte{0});  // as a caller may once the request is done
  EXPECT_EQ(std::memcmp(s.payload.data(), before.data(), 100), 0);
}

TEST_F(SendStreamTest, post__an_empty_message_is_a_segment_of_its_own) {
  post(0);
  ASSERT_TRUE(stream_.has_segment());
  EXPECT_EQ(stream_.sendable_bytes(), 0u);
  EXPECT_EQ(send().header.length, 0u);
  EXPECT_EQ(done_.size(), 1u);
  EXPECT_FALSE(stream_.has_segment());
}

TEST_F(SendStreamTest, post__beyond_the_eager_limit_waits_for_its_grant) {
  post(kEager + 1);
  EXPECT_FALSE(stream_.has_segment());
  ASSERT_TRUE(stream_.on_grant(grant(0, 4096), done_).ok());
  EXPECT_TRUE(stream_.has_segment());
  EXPECT_FALSE(send().header.flags & kFlagEager);
}

TEST_F(SendStreamTest, post__eight_slots_refilled_only_by_acks) {
  for (int i = 0; i < 10; ++i) post(16);
  for (std::size_t i = 0; i < kEagerSlots; ++i) EXPECT_EQ(send().header.message, i);
  EXPECT_EQ(done_.size(), kEagerSlots);
  EXPECT_FALSE(stream_.has_segment());
  ASSERT_TRUE(stream_.on_ack(ack(1), done_).ok());
  EXPECT_EQ(send().header.message, 8u);
  EXPECT_FALSE(stream_.has_segment());
  ASSERT_TRUE(stream_.on_grant(grant(9, 16, 1), done_).ok());  // an ack or a grant is enough
  const SendStream::Segment granted = send();
  EXPECT_EQ(granted.header.message, 9u);
  EXPECT_FALSE(granted.header.flags & kFlagEager);
}

TEST_F(SendStreamTest, post__the_receivers_slots_may_be_smaller) {
  SendStream small(4, Priority::normal, 7, ~0ull, kEager);
  ASSERT_TRUE(small.on_opened(opened(64), "", done_).ok());
  const auto data = pattern(65);
  small.post(requests_[0], data.data(), 65, done_);
  EXPECT_FALSE(small.has_segment());
  small.post(requests_[1], data.data(), 64, done_);
  EXPECT_FALSE(small.has_segment());  // messages are sent in order
}

// ------------------------------------------------------------------------------------------------------------ grants

TEST_F(SendStreamTest, on_grant__before_the_post) {
  ASSERT_TRUE(stream_.on_grant(grant(1, 8192), done_).ok());
  post(16);
  post(8000);
  EXPECT_EQ(send().header.message, 0u);
  const SendStream::Segment s = send();
  EXPECT_EQ(s.header.message, 1u);
  EXPECT_EQ(s.header.length, 8000u);
}

TEST_F(SendStreamTest, on_grant__lets_the_message_go_and_changes_nothing_repeated) {
  post(100'000);
  EXPECT_FALSE(stream_.has_segment());
  ASSERT_TRUE(stream_.on_grant(grant(0, 100'000), done_).ok());
  EXPECT_EQ(stream_.sendable_bytes(), 100'000u);
  std::uint64_t sent = send(4096).header.length;
  ASSERT_TRUE(stream_.on_grant(grant(0, 100'000), done_).ok());
  EXPECT_EQ(stream_.sendable_bytes(), 100'000 - sent);
  while (stream_.has_segment()) sent += send().header.length;
  EXPECT_EQ(sent, 100'000u);
}

TEST_F(SendStreamTest, on_grant__acknowledges_through_the_wrap_around_of_16_bits) {
  constexpr std::uint64_t kMessages = 65536 + 100;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    stream_.post(requests_[0], nullptr, 0, done_);
    const SendStream::Segment s = send();
    ASSERT_EQ(s.header.message, i);
    ASSERT_TRUE(stream_.on_grant(grant(i + 1, 64, i + 1), done_).ok()) << i;
  }
  EXPECT_EQ(done_.size(), kMessages);
}

TEST_F(SendStreamTest, on_grant__one_late_by_65500_messages_acknowledges_nothing) {
  const FrameHeader late = grant(63, 64, 10);
  for (int i = 0; i < 65536; ++i) send_eager(8);
  post(8);
  post(8);
  post(8);
  send();
  for (const std::uint64_t old : {1ull, 10ull, 36ull, 30'000ull, 40'000ull}) {
    EXPECT_TRUE(stream_.on_grant(grant(old + 63, 64, old), done_).ok());
    EXPECT_TRUE(stream_.on_grant(grant(old, 64, old), done_).ok());
  }
  EXPECT_TRUE(stream_.on_grant(late, done_).ok());
  EXPECT_EQ(stream_.unfinished(), 2u);
  EXPECT_TRUE(stream_.on_ack(ack(65537), done_).ok());
  EXPECT_FALSE(stream_.on_ack(ack(65538), done_).ok());  // not sent yet
}

TEST_F(SendStreamTest, on_grant__contradictions) {
  post(8);
  EXPECT_EQ(stream_.on_grant(grant(kMessagesInFlight, 64), done_).scope(), Scope::lane);
  EXPECT_EQ(stream_.on_grant(grant(2, 64, 2), done_).scope(), Scope::lane);  // acknowledges what was never posted
  EXPECT_EQ(stream_.on_ack(ack(1), done_).scope(), Scope::lane);             // or not sent
  EXPECT_FALSE(stream_.failed());
}

TEST_F(SendStreamTest, on_grant__one_smaller_than_the_message_fails_the_stream) {
  post(5000);
  post(10);
  ASSERT_TRUE(stream_.on_grant(grant(0, 4999), done_).ok());
  ASSERT_EQ(done_.size(), 2u);
  for (const Completion& c : done_) EXPECT_EQ(c.status.code(), Code::truncated);
  EXPECT_NE(done_[0].status.message().find("has 5000 bytes, but its receive takes at most 4999"), std::string::npos);
  EXPECT_EQ(control(), std::vector{FrameType::abort});
  post(1);
  ASSERT_EQ(done_.size(), 3u);
  EXPECT_EQ(done_[2].status.code(), Code::truncated);
}

TEST_F(SendStreamTest, post__larger_than_the_waiting_grant) {
  ASSERT_TRUE(stream_.on_grant(grant(0, 4999), done_).ok());
  post(5000);
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_EQ(done_[0].status.code(), Code::truncated);
}

// ---------------------------------------------------------------------------------------------------------- segments

TEST_F(SendStreamTest, cut__whole_lines_in_order_and_a_short_rest_taken_along) {
  post(300'001);
  ASSERT_TRUE(stream_.on_grant(grant(0, 1 * MiB), done_).ok());
  std::uint64_t next = 0;
  while (stream_.has_segment()) {
    const SendStream::Segment s = send(20'480);
    EXPECT_EQ(SegmentFrame::of(s.header).offset, next);
    EXPECT_EQ(s.payload.data(), data_[0].data() + next);
    EXPECT_EQ(s.payload.size(), s.header.length);
    next += s.header.length;
    EXPECT_TRUE(next == 300'001 || s.header.length % 128 == 0);
  }
  EXPECT_EQ(next, 300'001u);
}

TEST_F(SendStreamTest, cut__any_segment_size_covers_the_message_once) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t message = std::uint64_t(round), size = 1 + random() % 600'000;
    post(size);
    ASSERT_TRUE(stream_.on_grant(grant(message, size, message), done_).ok());
    std::uint64_t next = 0;
    while (next < size) {
      ASSERT_TRUE(stream_.has_segment());
      const SendStream::Segment s = send(std::uint32_t(128 * (1 + random() % 2048)));
      ASSERT_EQ(SegmentFrame::of(s.header).offset, next);
      ASSERT_GT(s.header.length, 0u);
      ASSERT_LE(s.header.length, kSegmentBytesMax);
      next += s.header.length;
    }
    ASSERT_TRUE(stream_.on_ack(ack(message + 1), done_).ok());
    ASSERT_EQ(done_.size(), message + 1);
    data_.clear();
  }
}

TEST_F(SendStreamTest, on_released__a_granted_send_is_done_once_acknowledged_too) {
  post(5000);
  ASSERT_TRUE(stream_.on_grant(grant(0, 5000), done_).ok());
  const SendStream::Segment s = stream_.cut(64 * KiB);
  stream_.on_written(s.header, done_);
  ASSERT_TRUE(stream_.on_ack(ack(1), done_).ok());
  EXPECT_TRUE(done_.empty());  // zero-copy: the kernel still refers to the bytes
  stream_.on_released(s.header, done_);
  EXPECT_EQ(done_.size(), 1u);
}

TEST_F(SendStreamTest, on_ack__requests_end_in_posting_order) {
  post(5000);
  post(8);
  ASSERT_TRUE(stream_.on_grant(grant(0, 5000), done_).ok());
  send();
  send();  // eager and written, but not the oldest
  EXPECT_TRUE(done_.empty());
  ASSERT_TRUE(stream_.on_ack(ack(1), done_).ok());
  ASSERT_EQ(done_.size(), 2u);
  EXPECT_EQ(done_[0].request, requests_[0]);
  EXPECT_EQ(done_[1].request, requests_[1]);
}

TEST_F(SendStreamTest, can_post__bounded_by_what_is_not_acknowledged) {
  for (std::size_t i = 0; i < kMessagesInFlight; ++i) {
    ASSERT_TRUE(stream_.can_post());
    post(5000);
  }
  EXPECT_FALSE(stream_.can_post());
  ASSERT_TRUE(stream_.on_grant(grant(0, 5000), done_).ok());
  send();
  ASSERT_TRUE(stream_.on_ack(ack(1), done_).ok());
  EXPECT_TRUE(stream_.can_post());
}

// ----------------------------------------------------------------------------------------------------- after a fence

TEST_F(SendStreamTest, requeue__goes_first_in_any_pieces_and_keeps_its_eager_slot) {
  post(64);
  post(50'000);
  ASSERT_TRUE(stream_.on_grant(grant(1, 50'000), done_).ok());
  const FrameHeader eager = send().header;
  const FrameHeader first = send(30'080).header;
  send();
  stream_.requeue(first, true);
  stream_.requeue(eager, true);
  EXPECT_EQ(stream_.sendable_bytes(), 30'144u);
  std::uint64_t next = SegmentFrame::of(first).offset;
  for (const std::uint64_t end = next + first.length; next < end;) {
    const SendStream::Segment s = send(1024);
    EXPECT_EQ(SegmentFrame::of(s.header).offset, next);
    EXPECT_EQ(s.payload.data(), data_[1].data() + next);
    next += s.header.length;
  }
  const SendStream::Segment again = send(128);
  EXPECT_TRUE(again.header.flags & kFlagEager);
  EXPECT_EQ(SegmentFrame::of(again.header).eager_slot, SegmentFrame::of(eager).eager_slot);
  EXPECT_EQ(again.header.length, 64u);
  EXPECT_EQ(std::memcmp(again.payload.data(), data_[0].data(), 64), 0);
  EXPECT_FALSE(stream_.has_segment());
  ASSERT_TRUE(stream_.on_ack(ack(2), done_).ok());
  EXPECT_EQ(done_.size(), 2u);
}

TEST_F(SendStreamTest, requeue__an_unwritten_eager_segment_is_done_once_written) {
  post(64);
  const FrameHeader lost = stream_.cut(64 * KiB).header;
  stream_.on_released(lost, done_);  // as losing the lane does
  stream_.requeue(lost, false);
  EXPECT_EQ(done_.size(), 0u);
  send();
  EXPECT_EQ(done_.size(), 1u);
}

TEST_F(SendStreamTest, requeue__a_piece_of_an_eager_message_waits_for_the_others) {
  post(300);
  const FrameHeader written = stream_.cut(128).header, unwritten = stream_.cut(256).header;
  stream_.on_written(written, done_);
  for (const FrameHeader& lost : {written, unwritten}) stream_.on_released(lost, done_);
  stream_.requeue(written, true);
  stream_.requeue(unwritten, false);
  send();
  EXPECT_EQ(done_.size(), 0u);
  send();
  EXPECT_EQ(done_.size(), 1u);
}

TEST_F(SendStreamTest, requeue__an_eager_segment_cut_in_two_is_done_with_the_second) {
  post(300);
  const FrameHeader lost = stream_.cut(512).header;
  stream_.on_released(lost, done_);
  stream_.requeue(lost, false);
  send(128);
  EXPECT_EQ(done_.size(), 0u);
  send();
  EXPECT_EQ(done_.size(), 1u);
}

TEST_F(SendStreamTest, requeue__what_was_acknowledged_meanwhile_is_not_sent_again) {
  post(64);
  const FrameHeader eager = send().header;
  ASSERT_TRUE(stream_.on_ack(ack(1), done_).ok());
  stream_.requeue(eager, true);
  EXPECT_FALSE(stream_.has_segment());
}

TEST_F(SendStreamTest, repeat_control__each_goes_again) {
  stream_.repeat_control(FrameType::open);
  EXPECT_EQ(control(), std::vector{FrameType::open});
  stream_.close(done_);
  EXPECT_EQ(control(), std::vector{FrameType::close});
  stream_.repeat_control(FrameType::close);
  EXPECT_EQ(control(), std::vector{FrameType::close});
}

// ------------------------------------------------------------------------------------------------------------ ending

TEST_F(SendStreamTest, close__with_nothing_unfinished_carries_the_message_count) {
  send_eager(8);
  send_eager(8);
  stream_.close(done_);
  FrameHeader h;
  std::span<const std::byte> payload;
  ASSERT_TRUE(stream_.next_control(h, payload));
  EXPECT_EQ(h.type, FrameType::close);
  EXPECT_EQ(h.message, 2u);
  EXPECT_TRUE(stream_.gone());
}

TEST_F(SendStreamTest, close__stays_until_its_eager_messages_are_acknowledged) {
  post(8);
  send();
  stream_.close(done_);
  EXPECT_EQ(control(), std::vector{FrameType::close});
  EXPECT_FALSE(stream_.gone());
  ASSERT_TRUE(stream_.on_ack(ack(1), done_).ok());
  EXPECT_TRUE(stream_.gone());
  EXPECT_EQ(done_.size(), 1u);
}

TEST_F(SendStreamTest, close__the_receiver_closes_too_and_takes_the_rest_no_more) {
  post(8);
  send();
  stream_.close(done_);
  EXPECT_EQ(control(), std::vector{FrameType::close});
  stream_.on_peer_close({}, done_);
  EXPECT_TRUE(stream_.gone());
  EXPECT_EQ(done_.size(), 1u);
}

TEST_F(SendStreamTest, close__with_unfinished_requests_cancels_them_and_aborts) {
  post(5000);
  post(6000);
  stream_.close(done_);
  ASSERT_EQ(done_.size(), 2u);
  EXPECT_EQ(done_[0].status.code(), Code::cancelled);
  EXPECT_EQ(control(), std::vector{FrameType::abort});
  EXPECT_TRUE(stream_.gone());
}

TEST_F(SendStreamTest, on_peer_close__ends_what_is_unfinished_once) {
  post(5000);
  stream_.on_peer_close({}, done_);
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_EQ(done_[0].status.code(), Code::left);
  stream_.on_peer_close(Status(Code::truncated, Scope::stream, "later"), done_);
  stream_.fail(Status(Code::internal, Scope::stream, "later"), true, done_);
  EXPECT_EQ(done_.size(), 1u);
  EXPECT_EQ(stream_.error().code(), Code::left);  // the first error sticks
  EXPECT_FALSE(stream_.gone());                   // until the caller closes, too
  stream_.close(done_);
  EXPECT_EQ(control(), std::vector{FrameType::close});
  EXPECT_TRUE(stream_.gone());
}

TEST_F(SendStreamTest, touches__only_memory_of_unfinished_requests) {
  post(5000);
  const std::span<const std::byte> all(data_[0]);
  EXPECT_TRUE(stream_.touches(all.subspan(4999, 1)));
  EXPECT_TRUE(stream_.touches({all.data() - 64, 65}));
  EXPECT_FALSE(stream_.touches({all.data() - 64, 64}));
  EXPECT_FALSE(stream_.touches({all.data() + 5000, 64}));
  ASSERT_TRUE(stream_.on_grant(grant(0, 5000), done_).ok());
  send();
  ASSERT_TRUE(stream_.on_ack(ack(1), done_).ok());
  EXPECT_FALSE(stream_.touches(all));
}

// ----------------------------------------------------------------------------------------------------------- opening

TEST(SendStreamOpening, on_opened__nothing_is_sent_before) {
  SendStream stream(0, Priority::urgent, 7, 5, kEager);
  Completions done;
  Requests requests;
  const auto data = pattern(8);
  stream.post(requests[0], data.data(), 8, done);
  EXPECT_FALSE(stream.has_segment());
  FrameHeader h;
  std::span<const std::byte> payload;
  ASSERT_TRUE(stream.next_control(h, payload));
  ASSERT_EQ(h.type, FrameType::open);
  EXPECT_EQ(OpenFrame::of(h).priority, std::uint16_t(Priority::urgent));
  EXPECT_EQ(OpenFrame::of(h).listener, 7u);
  EXPECT_EQ(OpenFrame::of(h).rail_mask, 5u);
  ASSERT_TRUE(stream.on_opened(OpenedFrame{.rail_mask = 2}, "", done).ok());
  EXPECT_TRUE(stream.may_use(4, 2));
  EXPECT_FALSE(stream.may_use(2, 2));
  EXPECT_FALSE(stream.may_use(4, 1));
}

TEST(SendStreamOpening, on_opened__refused) {
  SendStream stream(0, Priority::normal, 7, 5, kEager);
  Completions done;
  FrameHeader h;
  std::span<const std::byte> payload;
  ASSERT_TRUE(stream.next_control(h, payload));
  Requests requests;
  const auto data = pattern(8);
  stream.post(requests[0], data.data(), 8, done);
  ASSERT_TRUE(stream.on_opened(OpenedFrame{.refused = true}, "no such listener", done).ok());
  EXPECT_TRUE(stream.failed());
  ASSERT_EQ(done.size(), 1u);
  EXPECT_FALSE(done[0].status.ok());
  EXPECT_NE(stream.error().message().find("no such listener"), std::string::npos);
  stream.close(done);
  EXPECT_FALSE(stream.has_control());
  EXPECT_TRUE(stream.gone());
}

TEST(SendStreamOpening, close__its_abort_waits_for_the_answer_to_the_open) {
  SendStream stream(0, Priority::normal, 7, 5, kEager);
  Completions done;
  stream.close(done);
  FrameHeader h;
  std::span<const std::byte> payload;
  ASSERT_TRUE(stream.next_control(h, payload));
  EXPECT_EQ(h.type, FrameType::open);
  EXPECT_FALSE(stream.has_control());
  EXPECT_FALSE(stream.next_control(h, payload));
  EXPECT_FALSE(stream.gone());
  ASSERT_TRUE(stream.on_opened(OpenedFrame{}, "", done).ok());
  EXPECT_TRUE(stream.has_control());
  ASSERT_TRUE(stream.next_control(h, payload));
  EXPECT_EQ(h.type, FrameType::abort);
  EXPECT_TRUE(stream.gone());
}

}  // namespace
}  // namespace railweave::protocol
