#include "protocol/lane_ledger.h"

#include <gtest/gtest.h>

#include <memory>

namespace railweave::protocol {
namespace {

class LaneLedgerTest : public ::testing::Test {
 protected:
  // Takes `count` frames; frame i has `message` i.
  void take(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      FrameHeader h;
      h.message = taken_++;
      ledger_->take(h);
    }
  }
  void write(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) ledger_->write_next();
  }
  void release(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) ledger_->release_next();
  }
  std::uint64_t forget_all() {
    std::uint64_t n = 0;
    while (ledger_->forget_next()) ++n;
    return n;
  }
  std::unique_ptr<LaneLedger> ledger_ = std::make_unique<LaneLedger>();
  std::uint64_t taken_ = 0;
};

TEST_F(LaneLedgerTest, take__numbers_the_frames_and_reports_what_was_consumed) {
  FrameHeader h;
  ledger_->take(h);
  EXPECT_EQ(h.sequence, 0u);
  EXPECT_EQ(h.consumed, 0u);
  ledger_->on_consumed();
  ledger_->on_consumed();
  ledger_->take(h);
  EXPECT_EQ(h.sequence, 1u);
  EXPECT_EQ(h.consumed, 2u);
}

TEST_F(LaneLedgerTest, forget_next__needs_release_and_the_peers_word) {
  take(3);
  write(3);
  EXPECT_TRUE(ledger_->on_peer_consumed(2).ok());
  EXPECT_EQ(ledger_->forget_next(), nullptr);
  release(3);
  ASSERT_NE(ledger_->forget_next(), nullptr);
  EXPECT_EQ(forget_all(), 1u);
  EXPECT_TRUE(ledger_->on_peer_consumed(3).ok());
  EXPECT_EQ(forget_all(), 1u);
}

TEST_F(LaneLedgerTest, on_kernel_acknowledged__counts_whole_and_forgotten_frames) {
  for (const std::uint32_t length : {0u, 100u, 0u, 50u}) {
    FrameHeader h;
    h.length = length;
    ledger_->take(h);
  }
  EXPECT_EQ(ledger_->on_kernel_acknowledged(63), 0u);
  EXPECT_EQ(ledger_->on_kernel_acknowledged(64), 1u);
  EXPECT_EQ(ledger_->on_kernel_acknowledged(64 + 163), 1u);
  write(3);
  release(3);
  ASSERT_TRUE(ledger_->on_peer_consumed(3).ok());
  ASSERT_EQ(forget_all(), 3u);
  EXPECT_EQ(ledger_->kernel_acknowledged(), 3u) << "the peer has them";
  EXPECT_EQ(ledger_->on_kernel_acknowledged(3 * 64 + 100), 3u);
  EXPECT_EQ(ledger_->on_kernel_acknowledged(3 * 64 + 100 + 113), 3u);
  EXPECT_EQ(ledger_->on_kernel_acknowledged(3 * 64 + 100 + 114), 4u);
}

TEST_F(LaneLedgerTest, statements_end__counts_no_segment_and_no_keep) {
  FrameHeader h;
  h.type = FrameType::ack;
  ledger_->take(h);
  for (const FrameType type : {FrameType::segment, FrameType::keep}) {
    h.type = type;
    ledger_->take(h);
  }
  EXPECT_EQ(ledger_->statements_end(), 1u);
  EXPECT_EQ(ledger_->taken(), 3u);
}

TEST_F(LaneLedgerTest, on_peer_consumed__more_than_was_written) {
  take(3);
  write(2);
  EXPECT_TRUE(ledger_->on_peer_consumed(2).ok());
  const Status status = ledger_->on_peer_consumed(3);
  EXPECT_EQ(status.scope(), Scope::lane);
  EXPECT_NE(status.message().find("consumed 3 frames of this lane, but only 2"), std::string::npos) << status.message();
}

TEST_F(LaneLedgerTest, on_peer_consumed__less_than_it_said_before) {
  take(3);
  write(3);
  EXPECT_TRUE(ledger_->on_peer_consumed(2).ok());
  EXPECT_FALSE(ledger_->on_peer_consumed(1).ok());
}

TEST_F(LaneLedgerTest, has_room__keeps_some_for_reports) {
  std::uint64_t taken = 0;
  for (; ledger_->has_room(); ++taken) take(1);
  EXPECT_EQ(taken, kLedgerFrames - kLedgerFramesForReports);
  EXPECT_TRUE(ledger_->has_room_for_report());
  take(kLedgerFramesForReports);
  EXPECT_FALSE(ledger_->has_room_for_report());
  write(kLedgerFrames);
  release(kLedgerFrames);
  EXPECT_TRUE(ledger_->on_peer_consumed(kLedgerFrames).ok());
  EXPECT_EQ(forget_all(), kLedgerFrames);
  EXPECT_TRUE(ledger_->has_room());
}

TEST_F(LaneLedgerTest, on_peer_consumed__through_the_wrap_around_of_32_bits) {
  // 2^32 frames would take minutes. The first frame already shows that the arithmetic is modulo 2^32.
  take(1);
  write(1);
  EXPECT_FALSE(ledger_->on_peer_consumed(0xffffffff).ok());
  EXPECT_TRUE(ledger_->on_peer_consumed(1).ok());
}

TEST_F(LaneLedgerTest, on_fence__exactly_the_frames_after_the_count_go_again) {
  take(10);
  write(8);
  release(6);
  EXPECT_TRUE(ledger_->on_peer_consumed(3).ok());
  EXPECT_EQ(forget_all(), 3u);
  ASSERT_TRUE(ledger_->on_fence(5).ok());
  EXPECT_EQ(forget_all(), 2u);  // consumed, which only the fence reported
  for (std::uint64_t i = 5; i < 10; ++i) {
    const auto lost = ledger_->lost_next();
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->frame.message, i);
    EXPECT_EQ(lost->written, i < 8);
  }
  EXPECT_FALSE(ledger_->lost_next());
}

TEST_F(LaneLedgerTest, on_fence__impossible_counts_fail_the_session) {
  take(10);
  write(8);
  release(8);
  EXPECT_TRUE(ledger_->on_peer_consumed(3).ok());
  for (const std::uint64_t count : {2ull, 9ull, 1ull << 32}) {
    const Status status = ledger_->on_fence(count);
    EXPECT_EQ(status.scope(), Scope::session) << count;
    EXPECT_NE(status.message().find("expected 3 to 8"), std::string::npos) << status.message();
  }
}

TEST_F(LaneLedgerTest, on_header__a_frame_missing_or_repeated) {
  EXPECT_TRUE(ledger_->on_header(0).ok());
  ledger_->on_consumed();
  EXPECT_TRUE(ledger_->on_header(1).ok());
  EXPECT_FALSE(ledger_->on_header(0).ok());
  const Status status = ledger_->on_header(2);
  EXPECT_EQ(status.scope(), Scope::lane);
  EXPECT_EQ(status.message(), "malformed frame: sequence 2, expected 1");
}

TEST_F(LaneLedgerTest, owes_report__after_a_quarter_of_what_the_peer_can_hold) {
  for (std::size_t i = 0; i < kLedgerFrames / 4; ++i) {
    EXPECT_FALSE(ledger_->owes_report());
    ledger_->on_consumed();
  }
  EXPECT_TRUE(ledger_->owes_report());
  take(1);
  EXPECT_FALSE(ledger_->owes_report());
}

}  // namespace
}  // namespace railweave::protocol
