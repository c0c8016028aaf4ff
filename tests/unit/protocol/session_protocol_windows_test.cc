// SessionProtocol: credit windows between two sessions. End b receives.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/session_protocol.h"
#include "tests/unit/protocol/pair.h"

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

class CreditWindows : public ::testing::Test {
 protected:
  static constexpr std::size_t kBytes = 1 * MiB;
  // Opens a stream from a to b over `lanes` lanes, with a granted receive. start() posts the send.
  void prepare(int lanes) {
    pair_.add_lanes(lanes);
    ends_.emplace(pair_.open());
    pair_.b().post(ends_->in, requests_[0], place_.data(), place_.size());
    pair_.run();
    pair_.written(End::a).clear();
  }
  void start() { pair_.a().post(ends_->out, requests_[1], data_.data(), data_.size()); }
  void tell(LaneId lane, const Credit& credit) {
    pair_.b().announce_window(lane, credit);
    pair_.run();
  }
  std::uint64_t segment_bytes_written() {
    std::uint64_t sum = 0;
    for (const FrameHeader& h : pair_.written(End::a))
      sum += h.type == FrameType::segment ? kFrameHeaderBytes + h.length : 0;
    return sum;
  }

  Pair pair_;
  Requests requests_;
  std::optional<Pair::Ends> ends_;
  std::vector<std::byte> data_ = pattern(kBytes), place_ = std::vector<std::byte>(kBytes);
};

TEST_F(CreditWindows, take_data__a_window_bounds_what_is_outstanding) {
  prepare(1);
  tell(0, {.window_bytes = 20'000});
  start();
  pair_.send(End::a, 0);
  const std::uint64_t first = segment_bytes_written();
  EXPECT_LE(first, 20'000u);
  EXPECT_GT(first, 14'000u) << "all but a quarter of it is used";
  pair_.settle(End::a, 0);
  pair_.send(End::a, 0);
  EXPECT_GT(segment_bytes_written(), first) << "what was acknowledged makes room";
}

TEST_F(CreditWindows, take_data__time_with_the_window_used_up_is_without_credit) {
  prepare(1);
  tell(0, {.window_bytes = 20'000});
  start();
  const TimePoint begin{1h};
  for (int tenths = 0; tenths <= 5; ++tenths) {
    pair_.a().report(0, begin + tenths * 100ms, {.outstanding_bytes = tenths == 0 ? 0u : 20'000u});
    pair_.send(End::a, 0);
  }
  EXPECT_GE(pair_.a().without_credit(0), 400ms);
}

TEST_F(CreditWindows, take_data__the_message_arrives_through_the_smallest_window) {
  prepare(1);
  tell(0, {.window_bytes = 4096});
  start();
  pair_.run();
  EXPECT_TRUE(place_ == data_);
}

TEST_F(CreditWindows, take_data__nothing_goes_beyond_a_limit_until_it_is_raised) {
  prepare(1);
  const std::uint64_t position = pair_.b().arrivals(0).position;
  tell(0, {.window_bytes = 16 * KiB, .limit = position + 64 * KiB});
  start();
  pair_.run();
  EXPECT_LE(pair_.b().arrivals(0).position, position + 64 * KiB);
  EXPECT_GT(pair_.b().arrivals(0).position, position + 60 * KiB);
  tell(0, {});
  EXPECT_TRUE(place_ == data_);
}

TEST_F(CreditWindows, take_data__a_segment_a_second_goes_though_credit_is_nothing) {
  for (const Credit& nothing : {Credit{.window_bytes = 0}, Credit{.window_bytes = 100}, Credit{.limit = 0}}) {
    SCOPED_TRACE(nothing.window_bytes);
    Pair pair;
    Requests requests;
    pair.add_lanes(1);
    const Pair::Ends ends = pair.open();
    pair.b().post(ends.in, requests[0], place_.data(), place_.size());
    pair.b().announce_window(0, nothing);
    pair.run();
    pair.written(End::a).clear();
    const TimePoint begin{1h};
    pair.a().report(0, begin, {});
    pair.a().post(ends.out, requests[1], data_.data(), data_.size());
    Nanos before{0};
    for (const auto& [after, segments] : {std::pair<Nanos, long>{0s, 0}, {999ms, 0}, {1s, 1}, {1500ms, 1}, {2s, 2}}) {
      for (; before < after; before += 100ms) pair.a().report(0, begin + before, {});
      pair.a().report(0, begin + after, {});
      before = after;
      pair.send(End::a, 0);
      EXPECT_EQ(std::ranges::count(pair.written(End::a), FrameType::segment, &FrameHeader::type), segments)
          << after.count();
      EXPECT_EQ(std::ranges::count(pair.events(End::a), Event::Kind::overridden, &Event::kind), segments > 0 ? 1 : 0)
          << "told once";
    }
  }
}

TEST_F(CreditWindows, take_control__passes_a_window_of_nothing) {
  prepare(1);
  tell(0, {.window_bytes = 0, .limit = 0});
  EXPECT_TRUE(pair_.open().out.opened());
}

TEST_F(CreditWindows, arrivals__count_the_bytes_of_the_lane_and_what_waits) {
  prepare(1);
  const std::uint64_t before = pair_.b().arrivals(0).position;
  EXPECT_EQ(pair_.b().arrivals(0).waiting_kib, 0u);
  start();
  pair_.take(End::a, 0, 1);
  pair_.write(End::a, 0);
  const FrameHeader h = pair_.written(End::a).back();
  ASSERT_EQ(h.type, FrameType::segment);
  pair_.receive(End::b, 0);
  EXPECT_EQ(pair_.b().arrivals(0).position, before + kFrameHeaderBytes + h.length);
  EXPECT_EQ(pair_.b().arrivals(0).waiting_kib, (kBytes - h.length + KiB - 1) / KiB);
  pair_.settle(End::a, 0);
  pair_.run();
  EXPECT_EQ(pair_.b().arrivals(0).waiting_kib, 0u);
  EXPECT_EQ(pair_.b().arrivals(7).position, 0u) << "of no lane";
}

TEST_F(CreditWindows, arrivals__count_segments_and_no_control_frames) {
  prepare(2);
  const SessionProtocol::Arrivals before = pair_.b().arrivals(0);
  EXPECT_GT(before.position, 0u) << "OPEN came by the lane";
  EXPECT_EQ(before.segments, 0u);
  pair_.a().set_blocked(1, true);
  start();
  pair_.run();
  const auto written = std::uint64_t(std::ranges::count(pair_.written(End::a), FrameType::segment, &FrameHeader::type));
  EXPECT_GT(written, 1u);
  EXPECT_EQ(pair_.b().arrivals(0).segments + pair_.b().arrivals(1).segments, written);
  EXPECT_GT(pair_.b().arrivals(0).segments, 0u);
  EXPECT_EQ(pair_.a().arrivals(0).segments, 0u) << "acks, and a grant, came there";
  EXPECT_GT(pair_.a().arrivals(0).position, 0u);
}

TEST_F(CreditWindows, announce_window__goes_again_when_it_was_lost_with_its_lane) {
  prepare(2);
  for (const LaneId other : {0, 1}) pair_.b().set_blocked(other, other != 0);
  pair_.b().announce_window(1, {.window_bytes = 0});
  pair_.send(End::b, 0);
  pair_.lose_both(0);
  pair_.b().set_blocked(1, false);
  pair_.run();
  pair_.written(End::a).clear();
  start();
  pair_.run();
  EXPECT_EQ(segment_bytes_written(), 0u);
}

TEST_F(CreditWindows, announce_window__the_later_of_two_statements_stands) {
  prepare(2);
  for (const LaneId other : {0, 1}) pair_.b().set_blocked(other, other != 0);
  pair_.b().announce_window(1, {.window_bytes = 0});
  pair_.send(End::b, 0);
  for (const LaneId other : {0, 1}) pair_.b().set_blocked(other, other != 1);
  pair_.b().announce_window(1, {.window_bytes = 64 * KiB});
  pair_.send(End::b, 1);
  pair_.receive(End::a, 1);
  pair_.receive(End::a, 0);
  pair_.a().set_blocked(0, true);
  start();
  pair_.send(End::a, 1);
  EXPECT_GT(segment_bytes_written(), 0u);
}

TEST_F(CreditWindows, take_data__a_lane_that_waits_for_its_turn_delays_no_other) {
  prepare(2);
  pair_.teach(End::a, 0, Rate::from_megabits(1000));
  pair_.teach(End::a, 1, Rate::from_megabits(100));
  pair_.b().announce_window(0, {.limit = 0});
  pair_.b().announce_window(1, {.window_bytes = 64 * KiB});
  pair_.run();
  start();
  pair_.run();
  EXPECT_TRUE(place_ == data_) << "though the first would be faster";
}

TEST_F(CreditWindows, on_window__of_a_lane_that_is_not_here_says_nothing) {
  prepare(1);
  pair_.b().announce_window(9, {.window_bytes = 0});
  pair_.run();
  start();
  pair_.run();
  EXPECT_TRUE(place_ == data_);
}

TEST_F(CreditWindows, add_lane__the_first_credit_stands_before_any_announcement) {
  prepare(1);
  pair_.a().set_blocked(0, true);
  pair_.a().add_lane(1, 1, 1, false, {.window_bytes = 0});
  EXPECT_EQ(pair_.a().next_frames(1, std::span<OutgoingFrame>(), true), 0u);
  start();
  std::vector<OutgoingFrame> frames(16);
  const std::size_t n = pair_.a().next_frames(1, frames, true);
  for (std::size_t i = 0; i < n; ++i) EXPECT_NE(frames[i].header.type, FrameType::segment);
}

}  // namespace
}  // namespace railweave::protocol
