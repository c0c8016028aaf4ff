#include "protocol/recv_stream.h"

#include <gtest/gtest.h>

#include "tests/unit/protocol/pair.h"

namespace railweave::protocol {
namespace {

constexpr std::size_t kEager = 1024;

class RecvStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    stream_.accept(~0ull);
    EXPECT_EQ(control(), std::vector{FrameType::opened});
  }

  static FrameHeader segment(std::uint64_t message, std::uint64_t offset, std::uint64_t length, std::uint64_t size,
                             std::uint64_t tag = 0) {
    return SegmentFrame{
        .stream = 3, .length = std::uint32_t(length), .message = message, .offset = offset, .size = size, .tag = tag};
  }
  static FrameHeader eager(std::uint64_t message, std::uint64_t size, std::uint16_t slot) {
    return eager_piece(message, 0, size, size, slot);
  }
  static FrameHeader eager_piece(std::uint64_t message, std::uint64_t offset, std::uint64_t length, std::uint64_t size,
                                 std::uint16_t slot) {
    return SegmentFrame{.stream = 3,
                        .length = std::uint32_t(length),
                        .message = message,
                        .offset = offset,
                        .size = size,
                        .eager = true,
                        .eager_slot = slot};
  }
  static FrameHeader close_after(std::uint64_t messages) { return CloseFrame{.messages = messages}; }

  std::span<std::byte> post(std::size_t capacity) {
    buffers_.emplace_back(capacity);
    stream_.post(requests_[buffers_.size() - 1], buffers_.back().data(), capacity, done_);
    return buffers_.back();
  }
  // A segment arrives whole. The message's bytes are pattern(size, message).
  Status arrive(const FrameHeader& h) {
    Result<std::span<std::byte>> where = stream_.on_segment(h, done_);
    if (!where.ok()) return where.status();
    EXPECT_EQ(where->size(), h.length);
    const auto segment = SegmentFrame::of(h);
    const auto data = pattern(segment.size, std::uint32_t(segment.message));
    if (where->data() && segment.length > 0) std::memcpy(where->data(), data.data() + segment.offset, segment.length);
    return stream_.on_consumed(h, done_);
  }
  bool holds(std::size_t buffer, std::uint64_t message, std::size_t bytes) {
    return std::memcmp(buffers_[buffer].data(), pattern(bytes, std::uint32_t(message)).data(), bytes) == 0;
  }
  // Gets the next control frame, urgent or lazy. Returns false if there is none.
  static bool next(RecvStream& stream, FrameHeader& h) {
    std::span<const std::byte> payload;
    if (stream.next_control(h, payload)) return true;
    if (!stream.has_lazy()) return false;
    h = stream.next_lazy();
    return true;
  }
  // Takes every control frame; acks and grants count as written.
  std::vector<FrameType> control() {
    std::vector<FrameType> types;
    for (FrameHeader h; next(stream_, h);) {
      types.push_back(h.type);
      last_ = h;
      stream_.on_ack_written(h, done_);
    }
    return types;
  }

  Completions done_;
  Requests requests_;
  std::deque<std::vector<std::byte>> buffers_;
  FrameHeader last_;
  RecvStream stream_{3, kEager};
};

// ---------------------------------------------------------------------------------------------------------- matching

TEST_F(RecvStreamTest, post__grants_at_once_with_the_whole_capacity) {
  post(5000);
  ASSERT_TRUE(stream_.has_control());
  EXPECT_EQ(control(), std::vector{FrameType::grant});
  EXPECT_EQ(last_.message, 0u);
  EXPECT_EQ(GrantFrame::of(last_).capacity, 5000u);
  EXPECT_EQ(ack_in(last_), 0u);
}

TEST_F(RecvStreamTest, on_segment__straight_into_the_buffer_in_any_order) {
  const std::span<std::byte> buffer = post(5000);
  control();
  Result<std::span<std::byte>> where = stream_.on_segment(segment(0, 1280, 720, 2000), done_);
  ASSERT_TRUE(where.ok());
  EXPECT_EQ(where->data(), buffer.data() + 1280);
  ASSERT_TRUE(stream_.on_consumed(segment(0, 1280, 720, 2000), done_).ok());
  EXPECT_TRUE(done_.empty());
  ASSERT_TRUE(arrive(segment(0, 0, 1280, 2000)).ok());
  EXPECT_TRUE(done_.empty());  // its ack must be written first
  EXPECT_EQ(control(), std::vector{FrameType::ack});
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_EQ(done_[0].bytes, 2000u);
}

TEST_F(RecvStreamTest, on_segment__an_empty_message) {
  post(100);
  control();
  ASSERT_TRUE(arrive(segment(0, 0, 0, 0)).ok());
  EXPECT_EQ(control(), std::vector{FrameType::ack});
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_EQ(done_[0].bytes, 0u);
}

TEST_F(RecvStreamTest, post__one_smaller_than_the_message_fails_the_stream) {
  ASSERT_TRUE(arrive(eager(0, 100, 0)).ok());
  post(99);
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_EQ(done_[0].status.code(), Code::truncated);
  EXPECT_EQ(control(), std::vector{FrameType::abort});
  EXPECT_EQ(AbortFrame::of(last_).code, Code::truncated);
}

TEST_F(RecvStreamTest, on_segment__eager_and_larger_than_its_receive) {
  post(99);
  post(50);
  control();
  Result<std::span<std::byte>> where = stream_.on_segment(eager(0, 100, 0), done_);
  ASSERT_TRUE(where.ok());
  EXPECT_EQ(where->data(), nullptr);
  ASSERT_EQ(done_.size(), 2u);
  EXPECT_EQ(done_[0].status.code(), Code::truncated);
  EXPECT_TRUE(stream_.on_consumed(eager(0, 100, 0), done_).ok());
  EXPECT_EQ(done_.size(), 2u);
}

// ------------------------------------------------------------------------------------------------------------- eager

TEST_F(RecvStreamTest, on_segment__an_unexpected_message_waits_in_its_slot) {
  ASSERT_TRUE(arrive(eager(1, 200, 5)).ok());
  ASSERT_TRUE(arrive(eager(0, 100, 2)).ok());
  EXPECT_TRUE(done_.empty());
  post(100);
  post(1000);
  ASSERT_EQ(done_.size(), 2u);  // eager: done without waiting for the ack
  EXPECT_EQ(done_[1].bytes, 200u);
  EXPECT_TRUE(holds(0, 0, 100));
  EXPECT_TRUE(holds(1, 1, 200));
  EXPECT_TRUE(stream_.has_lazy());
  EXPECT_FALSE(stream_.has_control());
  EXPECT_EQ(stream_.next_lazy().message, 2u);
  EXPECT_FALSE(stream_.has_lazy());
}

TEST_F(RecvStreamTest, has_control__half_the_slots_unacknowledged_are_urgent) {
  for (std::size_t i = 0; i < kEagerSlots; ++i) post(100);
  control();
  for (std::size_t i = 0; i < kEagerSlots / 2; ++i) {
    EXPECT_FALSE(stream_.has_control()) << i;
    ASSERT_TRUE(arrive(eager(i, 10, std::uint16_t(i))).ok());
  }
  EXPECT_TRUE(stream_.has_control());
}

TEST_F(RecvStreamTest, has_control__grants_are_urgent_only_while_few_have_theirs) {
  post(100);
  EXPECT_TRUE(stream_.has_control());
  control();
  post(100);
  EXPECT_FALSE(stream_.has_control());
  EXPECT_TRUE(stream_.has_lazy());
  EXPECT_EQ(stream_.next_lazy().message, 1u);
  EXPECT_FALSE(stream_.has_lazy());
}

TEST_F(RecvStreamTest, on_segment__pieces_of_an_eager_message_go_to_one_place) {
  ASSERT_TRUE(arrive(eager_piece(0, 128, 72, 200, 3)).ok());
  const std::byte* const place = post(200).data();
  Result<std::span<std::byte>> where = stream_.on_segment(eager_piece(0, 0, 128, 200, 3), done_);
  ASSERT_TRUE(where.ok());
  EXPECT_NE(where->data(), place);
  stream_.on_segment_lost(eager_piece(0, 0, 128, 200, 3));
  EXPECT_EQ(done_.size(), 0u);
  ASSERT_TRUE(arrive(eager_piece(0, 0, 128, 200, 3)).ok());
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_TRUE(holds(0, 0, 200));
  post(200);
  ASSERT_TRUE(arrive(eager_piece(1, 128, 72, 200, 3)).ok());
  ASSERT_TRUE(arrive(eager_piece(1, 0, 128, 200, 3)).ok());
  ASSERT_EQ(done_.size(), 2u);
  EXPECT_TRUE(holds(1, 1, 200));
}

TEST_F(RecvStreamTest, post__while_the_eager_segment_is_arriving) {
  Result<std::span<std::byte>> where = stream_.on_segment(eager(0, 100, 0), done_);
  ASSERT_TRUE(where.ok());
  post(100);
  EXPECT_TRUE(done_.empty());
  std::memcpy(where->data(), pattern(100, 0).data(), 100);
  ASSERT_TRUE(stream_.on_consumed(eager(0, 100, 0), done_).ok());
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_TRUE(holds(0, 0, 100));
}

TEST_F(RecvStreamTest, post__an_arriving_empty_eager_message_is_done_once) {
  ASSERT_TRUE(stream_.on_segment(eager(0, 0, 0), done_).ok());
  post(100);
  EXPECT_TRUE(done_.empty());
  ASSERT_TRUE(stream_.on_consumed(eager(0, 0, 0), done_).ok());
  EXPECT_EQ(done_.size(), 1u);
  for (std::uint64_t i = 1; i < 3 * kMessageSlots; ++i) {  // no slot of a later message was touched
    post(100);
    EXPECT_EQ(done_.size(), i);
    ASSERT_TRUE(arrive(eager(i, 10, 0)).ok());
    EXPECT_EQ(done_.size(), i + 1);
    control();
  }
}

TEST_F(RecvStreamTest, on_segment_lost__a_half_arrived_eager_segment_comes_again) {
  ASSERT_TRUE(stream_.on_segment(eager(0, 100, 4), done_).ok());
  stream_.on_segment_lost(eager(0, 100, 4));
  post(100);
  EXPECT_TRUE(done_.empty());
  ASSERT_TRUE(arrive(eager(0, 100, 4)).ok());
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_TRUE(holds(0, 0, 100));
}

TEST_F(RecvStreamTest, on_segment_lost__a_half_segment_comes_again_cut_otherwise) {
  post(3000);
  control();
  ASSERT_TRUE(stream_.on_segment(segment(0, 0, 2048, 3000), done_).ok());
  stream_.on_segment_lost(segment(0, 0, 2048, 3000));
  for (const auto& [offset, length] : {std::pair{2048, 952}, {0, 1024}, {1024, 1024}})
    ASSERT_TRUE(arrive(segment(0, std::uint64_t(offset), std::uint64_t(length), 3000)).ok());
  control();
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_TRUE(holds(0, 0, 3000));
}

// -------------------------------------------------------------------------------------------------------------- acks

TEST_F(RecvStreamTest, on_consumed__acknowledges_only_what_is_contiguous) {
  for (int i = 0; i < 3; ++i) post(2000);
  control();
  ASSERT_TRUE(arrive(segment(2, 0, 2000, 2000)).ok());
  ASSERT_TRUE(arrive(segment(1, 0, 2000, 2000)).ok());
  EXPECT_FALSE(stream_.has_control());
  EXPECT_FALSE(stream_.has_lazy());
  ASSERT_TRUE(arrive(segment(0, 0, 2000, 2000)).ok());
  EXPECT_EQ(control(), std::vector{FrameType::ack});
  EXPECT_EQ(last_.message, 3u);
  EXPECT_EQ(done_.size(), 3u);
}

TEST_F(RecvStreamTest, on_ack_written__an_older_ack_publishes_only_what_it_covers) {
  for (int i = 0; i < 2; ++i) post(2000);
  control();
  ASSERT_TRUE(arrive(segment(0, 0, 2000, 2000)).ok());
  FrameHeader first;
  std::span<const std::byte> payload;
  ASSERT_TRUE(stream_.next_control(first, payload));
  ASSERT_TRUE(arrive(segment(1, 0, 2000, 2000)).ok());
  stream_.on_ack_written(first, done_);
  EXPECT_EQ(done_.size(), 1u);
  control();
  EXPECT_EQ(done_.size(), 2u);
}

TEST_F(RecvStreamTest, next_control__a_grant_carries_the_ack) {
  post(2000);
  control();
  ASSERT_TRUE(arrive(segment(0, 0, 2000, 2000)).ok());
  post(2000);
  EXPECT_EQ(control(), std::vector{FrameType::grant});
  EXPECT_EQ(ack_in(last_), 1u);
  EXPECT_EQ(done_.size(), 1u);
}

TEST_F(RecvStreamTest, on_ack_written__through_the_wrap_around_of_sixteen_bits) {
  std::vector<std::byte> buffer(16);
  for (std::uint64_t i = 0; i < 65536 + 100; ++i) {
    stream_.post(requests_[0], buffer.data(), buffer.size(), done_);
    control();
    ASSERT_TRUE(arrive(segment(i, 0, 8, 8)).ok());
    control();
    ASSERT_EQ(done_.size(), i + 1);
  }
}

TEST_F(RecvStreamTest, publish_without_ack__does_not_wait) {
  post(2000);
  control();
  ASSERT_TRUE(arrive(segment(0, 0, 2000, 2000)).ok());
  EXPECT_TRUE(done_.empty());
  stream_.publish_without_ack(done_);
  EXPECT_EQ(done_.size(), 1u);
  EXPECT_EQ(control(), std::vector{FrameType::ack});  // the ack is still owed
  EXPECT_EQ(done_.size(), 1u);
}

TEST_F(RecvStreamTest, post__what_is_there_already_needs_no_grant) {
  ASSERT_TRUE(arrive(eager(0, 100, 0)).ok());
  post(100);
  EXPECT_EQ(control(), std::vector{FrameType::ack});
}

TEST_F(RecvStreamTest, can_post__bounded) {
  for (std::size_t i = 0; i < kMessagesInFlight; ++i) {
    ASSERT_TRUE(stream_.can_post());
    post(16);
  }
  EXPECT_FALSE(stream_.can_post());
}

TEST_F(RecvStreamTest, next_control__announces_each_of_many_receives_once) {
  std::size_t grants = 0;
  for (std::size_t i = 0; i < kMessagesInFlight; ++i) post(1 * MiB);
  for (const FrameType type : control()) grants += type == FrameType::grant ? 1u : 0u;
  for (; stream_.has_lazy(); ++grants) ASSERT_EQ(stream_.next_lazy().type, FrameType::grant);
  EXPECT_EQ(grants, kMessagesInFlight);
  ASSERT_TRUE(arrive(segment(0, 0, 128 * KiB, 1 * MiB)).ok());
  EXPECT_FALSE(stream_.has_control() || stream_.has_lazy()) << "what arrives of a message asks for no further grant";
}

// --------------------------------------------------------------------------------------------------- malformed frames

TEST_F(RecvStreamTest, on_segment__contradictions) {
  post(2000);
  control();
  ASSERT_TRUE(arrive(segment(0, 0, 1024, 2000)).ok());
  const auto refused = [&](const FrameHeader& h) {
    const Result<std::span<std::byte>> r = stream_.on_segment(h, done_);
    return !r.ok() && r.status().scope() == Scope::lane && r.status().code() == Code::remote;
  };
  EXPECT_TRUE(refused(segment(0, 1024, 900, 1999)));          // another size than before
  EXPECT_TRUE(refused(segment(0, 1024, 900, 2000, 1)));       // another tag than before
  EXPECT_TRUE(refused(segment(0, 0, 1024, 2000)));            // more bytes than the message
  EXPECT_TRUE(refused(segment(1, 0, 1024, 2000)));            // not granted
  EXPECT_TRUE(refused(segment(kMessagesInFlight, 0, 8, 8)));  // far ahead
  EXPECT_TRUE(refused(eager(2, kEager + 1, 0)));              // larger than a slot
  EXPECT_TRUE(refused(eager(2, 100, kEagerSlots)));           // no such slot
  ASSERT_TRUE(arrive(eager_piece(3, 0, 50, 100, 0)).ok());
  EXPECT_TRUE(refused(eager_piece(3, 50, 50, 100, 1)));  // another slot than before
  EXPECT_TRUE(refused(segment(3, 50, 50, 100)));         // the message is eager
  EXPECT_TRUE(refused(eager_piece(3, 0, 100, 100, 0)));  // more bytes than the message
  ASSERT_TRUE(arrive(segment(0, 1024, 976, 2000)).ok());
  EXPECT_TRUE(refused(segment(0, 0, 1024, 2000)));  // complete already
}

TEST_F(RecvStreamTest, on_segment__larger_than_its_grant) {
  post(2000);
  control();
  EXPECT_FALSE(stream_.on_segment(segment(0, 0, 128, 1ull << 40), done_).ok());
  EXPECT_TRUE(stream_.on_segment(segment(0, 0, 128, 2000), done_).ok()) << "what was refused is forgotten";
}

TEST_F(RecvStreamTest, on_segment__two_lanes_bring_the_same_bytes) {
  post(2000);
  control();
  // This segment is still arriving when another lane brings the whole message.
  ASSERT_TRUE(stream_.on_segment(segment(0, 0, 1024, 2000), done_).ok());
  EXPECT_FALSE(stream_.on_segment(segment(0, 0, 2000, 2000), done_).ok());
  ASSERT_TRUE(stream_.on_segment(segment(0, 1024, 976, 2000), done_).ok());
}

TEST_F(RecvStreamTest, on_consumed__two_lanes_bring_the_same_empty_message) {
  post(100);
  control();
  ASSERT_TRUE(stream_.on_segment(segment(0, 0, 0, 0), done_).ok());
  ASSERT_TRUE(stream_.on_segment(segment(0, 0, 0, 0), done_).ok());
  ASSERT_TRUE(stream_.on_consumed(segment(0, 0, 0, 0), done_).ok());
  EXPECT_FALSE(stream_.on_consumed(segment(0, 0, 0, 0), done_).ok());
}

// ------------------------------------------------------------------------------------------------------------ ending

TEST_F(RecvStreamTest, on_close__takes_effect_after_all_messages_before_it) {
  for (int i = 0; i < 3; ++i) post(2000);
  control();
  ASSERT_TRUE(stream_.on_close(close_after(2), done_).ok());
  ASSERT_TRUE(arrive(segment(1, 0, 2000, 2000)).ok());
  EXPECT_TRUE(done_.empty());
  ASSERT_TRUE(arrive(segment(0, 0, 2000, 2000)).ok());
  control();
  ASSERT_EQ(done_.size(), 3u);
  EXPECT_TRUE(done_[1].status.ok());
  EXPECT_EQ(done_[2].status.code(), Code::left);
  EXPECT_NE(done_[2].status.message().find("after 2 messages"), std::string::npos);
}

TEST_F(RecvStreamTest, on_close__receives_posted_later_end_too) {
  ASSERT_TRUE(arrive(eager(0, 10, 0)).ok());
  ASSERT_TRUE(stream_.on_close(close_after(1), done_).ok());
  post(10);
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_TRUE(done_[0].status.ok());
  EXPECT_TRUE(holds(0, 0, 10));
  post(10);
  ASSERT_EQ(done_.size(), 2u);
  EXPECT_EQ(done_[1].status.code(), Code::left);
}

TEST_F(RecvStreamTest, on_close__fewer_messages_than_are_complete) {
  post(10);
  ASSERT_TRUE(arrive(eager(0, 10, 0)).ok());
  EXPECT_FALSE(stream_.on_close(close_after(0), done_).ok());
}

TEST_F(RecvStreamTest, on_abort__ends_everything_once) {
  for (int i = 0; i < 2; ++i) post(2000);
  control();
  stream_.on_abort(Status(Code::truncated, Scope::stream, "too long"), done_);
  ASSERT_EQ(done_.size(), 2u);
  EXPECT_EQ(done_[0].status.code(), Code::truncated);
  EXPECT_EQ(control(), std::vector<FrameType>{});  // the peer aborted it
  EXPECT_FALSE(stream_.gone());
  stream_.close(done_);
  EXPECT_EQ(done_.size(), 2u);
  EXPECT_TRUE(stream_.gone());
}

TEST_F(RecvStreamTest, close__cancels_unfinished_receives_and_notifies_the_sender) {
  post(2000);
  control();
  stream_.close(done_);
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_EQ(done_[0].status.code(), Code::cancelled);
  EXPECT_EQ(control(), std::vector{FrameType::abort});
  EXPECT_FALSE(stream_.gone());  // until the sender's CLOSE or ABORT
  ASSERT_TRUE(stream_.on_close(close_after(5), done_).ok());
  EXPECT_TRUE(stream_.gone());
}

TEST_F(RecvStreamTest, close__what_comes_afterwards_goes_nowhere) {
  stream_.close(done_);
  EXPECT_EQ(control(), std::vector{FrameType::close});
  Result<std::span<std::byte>> where = stream_.on_segment(eager(0, 100, 0), done_);
  ASSERT_TRUE(where.ok());
  EXPECT_EQ(where->data(), nullptr);
  EXPECT_EQ(where->size(), 100u);
  EXPECT_TRUE(stream_.on_consumed(eager(0, 100, 0), done_).ok());
}

TEST_F(RecvStreamTest, on_peer_lost__what_is_here_ends_well_and_nothing_else) {
  ASSERT_TRUE(arrive(eager(0, 10, 0)).ok());
  ASSERT_TRUE(stream_.on_segment(eager(1, 0, 1), done_).ok());  // its lane is lost before the segment is consumed
  stream_.on_segment_lost(eager(1, 0, 1));
  stream_.on_peer_lost(Status(Code::remote, Scope::session, "gone"), done_);
  post(10);
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_TRUE(done_[0].status.ok());
  post(10);
  ASSERT_EQ(done_.size(), 2u);
  EXPECT_EQ(done_[1].status.message(), "gone");
}

TEST_F(RecvStreamTest, refuse__answers_with_the_reason_and_is_gone) {
  RecvStream stream(9, kEager);
  stream.refuse("its backlog is full");
  FrameHeader h;
  std::span<const std::byte> payload;
  ASSERT_TRUE(stream.next_control(h, payload));
  EXPECT_EQ(h.type, FrameType::opened);
  EXPECT_TRUE(h.flags & kFlagRefused);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(payload.data()), payload.size()), "its backlog is full");
  EXPECT_TRUE(stream.gone());
}

TEST_F(RecvStreamTest, repeat_control__statements_as_they_are_now) {
  post(2000);
  control();
  FrameHeader lost_grant = last_;
  ASSERT_TRUE(arrive(segment(0, 0, 1024, 2000)).ok());
  stream_.repeat_control(lost_grant);
  EXPECT_EQ(control(), std::vector{FrameType::grant});
  ASSERT_TRUE(arrive(segment(0, 1024, 976, 2000)).ok());
  control();
  const FrameHeader lost_ack = last_;
  stream_.repeat_control(lost_grant);  // its message is complete by now: only the ack in it matters
  EXPECT_EQ(control(), std::vector{FrameType::ack});
  stream_.repeat_control(lost_ack);
  EXPECT_EQ(control(), std::vector{FrameType::ack});
  EXPECT_EQ(done_.size(), 1u);
}

TEST_F(RecvStreamTest, touches__only_memory_of_unfinished_receives) {
  const std::span<std::byte> buffer = post(100);
  EXPECT_TRUE(stream_.touches(buffer.last(1)));
  EXPECT_FALSE(stream_.touches({buffer.data() + 100, 10}));
  ASSERT_TRUE(arrive(eager(0, 10, 0)).ok());
  EXPECT_FALSE(stream_.touches(buffer));
}

TEST_F(RecvStreamTest, post__a_message_is_watched_until_its_request_ends) {
  std::vector<std::byte> memory(2000);
  stream_.post(requests_[0], memory.data(), memory.size(), done_, true);
  stream_.post(requests_[1], memory.data(), memory.size(), done_);
  EXPECT_TRUE(stream_.read_while_landing(0));
  EXPECT_FALSE(stream_.read_while_landing(1));
  ASSERT_TRUE(arrive(eager(0, 100, 0)).ok());
  EXPECT_FALSE(stream_.read_while_landing(0));
}

}  // namespace
}  // namespace railweave::protocol
