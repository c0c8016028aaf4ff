// SessionProtocol: control frames that a late lane holds up are retransmitted by another lane (decision D8), and a lane
// added after a loss is proven by padding first.
#include <gtest/gtest.h>

#include "protocol/session_protocol.h"
#include "tests/unit/protocol/pair.h"

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

class LateControl : public ::testing::Test {
 protected:
  void SetUp() override { pair_.add_lanes(2); }

  // Lane 0 takes all control frames that wait at `from`. They stay unwritten and unacknowledged until the test calls
  // write().
  std::size_t swallow_by_0(End from) {
    pair_.session(from).set_blocked(1, true);
    const std::size_t n = pair_.take(from, 0);
    pair_.session(from).set_blocked(1, false);
    return n;
  }
  // The end `from` polls its lanes for `time`. All is acknowledged on lanes `work`, nothing new on lanes `stand`.
  // Returns the number of retransmitted frames.
  std::size_t poll_for(End from, Nanos time, const std::vector<LaneId>& work = {1},
                       const std::vector<LaneId>& stand = {0}) {
    std::size_t said = 0;
    for (const TimePoint end = now_ + time; now_ < end;) {
      now_ += SessionProtocol::kLatePoll;
      std::vector<SessionProtocol::ReportedLane> lanes;
      for (const LaneId lane : work) lanes.push_back({lane, {.acknowledged_bytes = UINT64_MAX}});
      for (const LaneId lane : stand) lanes.push_back({lane, {.acknowledged_bytes = acknowledged_by_0_}});
      said += pair_.session(from).retransmit_late_control(now_, now_, lanes);
    }
    return said;
  }
  std::size_t count(End end, FrameType type) {
    return std::size_t(std::ranges::count(pair_.written(end), type, &FrameHeader::type));
  }
  // Reports as acknowledged all that both ends have written so far.
  void acknowledge_all() {
    for (const End end : {End::a, End::b}) {
      pair_.run();
      poll_for(end, 20ms, {0, 1}, {});
    }
    acknowledged_by_0_ = bytes_by_0_;
  }

  Pair pair_;
  Requests requests_;
  TimePoint now_{1h};
  std::uint64_t acknowledged_by_0_ = 0, bytes_by_0_ = 0;
};

TEST_F(LateControl, an_open_goes_by_another_lane_after_60_ms_and_a_poll) {
  pair_.a().open_stream(Priority::normal, 7, ~0ull);
  EXPECT_FALSE(pair_.a().watches_control());
  ASSERT_EQ(swallow_by_0(End::a), 1u);
  EXPECT_TRUE(pair_.a().watches_control());
  EXPECT_EQ(poll_for(End::a, 60ms), 0u);
  EXPECT_FALSE(pair_.a().has_control());
  EXPECT_EQ(poll_for(End::a, 20ms), 1u);
  EXPECT_TRUE(pair_.a().has_control());
  EXPECT_EQ(pair_.take(End::a, 0), 0u) << "lane 0 is late";
  pair_.send(End::a, 1);
  pair_.receive(End::b, 1);
  EXPECT_EQ(count(End::a, FrameType::open), 1u);
  ASSERT_FALSE(pair_.events(End::b).empty());
  EXPECT_EQ(pair_.events(End::b).back().kind, Event::Kind::incoming);
  EXPECT_EQ(pair_.a().control_frames(), 2u);
  EXPECT_EQ(pair_.a().control_frames_retransmitted(), 1u);
  EXPECT_EQ(poll_for(End::a, 1s), 0u) << "once for each lane";
}

TEST_F(LateControl, late_or_twice_control_of_every_kind_does_no_harm) {
  SendStream& out = pair_.a().open_stream(Priority::normal, 7, ~0ull);
  ASSERT_EQ(swallow_by_0(End::a), 1u);
  EXPECT_EQ(poll_for(End::a, 100ms), 1u);
  pair_.send(End::a, 1);
  pair_.receive(End::b, 1);
  // OPENED and GRANT
  RecvStream& in = pair_.b().accept_stream(out.id(), ~0ull);
  std::vector<std::byte> buffer(60'000);
  pair_.b().post(in, requests_[0], buffer.data(), buffer.size());
  ASSERT_EQ(swallow_by_0(End::b), 2u);
  EXPECT_EQ(poll_for(End::b, 100ms), 2u);
  pair_.send(End::b, 1);
  pair_.receive(End::a, 1);
  ASSERT_TRUE(out.opened());
  const auto data = pattern(buffer.size());
  pair_.a().post(out, requests_[1], data.data(), data.size());
  pair_.send(End::a, 1);
  pair_.receive(End::b, 1);
  // ACK
  ASSERT_EQ(swallow_by_0(End::b), 1u);
  EXPECT_EQ(poll_for(End::b, 100ms), 1u);
  pair_.send(End::b, 1);
  pair_.receive(End::a, 1);
  EXPECT_EQ(pair_.done(End::a).size(), 1u);
  // RAILS and CLOSE
  pair_.a().announce_rail({3, 1, "eth3"});
  pair_.a().close(out);
  ASSERT_EQ(swallow_by_0(End::a), 2u);
  EXPECT_EQ(poll_for(End::a, 100ms), 2u);
  pair_.send(End::a, 1);
  pair_.receive(End::b, 1);
  EXPECT_EQ(pair_.b().drain_rail_updates().size(), 1u);
  // Now the frames arrive that lane 0 held up.
  for (const End end : {End::a, End::b}) pair_.write(end, 0);
  pair_.run();
  EXPECT_TRUE(buffer == data);
  EXPECT_TRUE(pair_.b().drain_rail_updates().empty());
  EXPECT_EQ(pair_.done(End::a).size(), 1u);
  EXPECT_EQ(pair_.done(End::b).size(), 1u);
  pair_.b().close(in);
  for (int i = 0; i < 2; ++i) {
    pair_.run();
    for (const LaneId lane : {0, 1}) pair_.a().send_heartbeat_probe(lane), pair_.b().send_heartbeat_probe(lane);
  }
  pair_.run();
  EXPECT_EQ(pair_.a().send_streams() + pair_.b().recv_streams(), 0u) << "what was retransmitted holds no stream";
}

TEST_F(LateControl, a_fence_that_a_silent_lane_took_goes_by_another) {
  pair_.add_lane(2, 2, 2);
  pair_.lose_both(2);
  ASSERT_EQ(swallow_by_0(End::a), 1u);
  ASSERT_EQ(poll_for(End::a, 100ms), 1u);
  pair_.send(End::a, 1);
  EXPECT_EQ(count(End::a, FrameType::fence), 1u);
  pair_.receive(End::b, 1);
  pair_.write(End::a, 0);  // the fence arrives twice
  pair_.run();
  EXPECT_TRUE(pair_.b().error().ok());
}

TEST_F(LateControl, what_is_acknowledged_in_time_is_not_retransmitted) {
  pair_.a().open_stream(Priority::normal, 7, ~0ull);
  ASSERT_EQ(swallow_by_0(End::a), 1u);
  poll_for(End::a, 40ms);
  acknowledged_by_0_ = kFrameHeaderBytes;
  EXPECT_EQ(poll_for(End::a, 1s), 0u);
  EXPECT_FALSE(pair_.a().watches_control());
}

TEST_F(LateControl, a_part_of_a_frame_that_is_acknowledged_is_none) {
  pair_.a().open_stream(Priority::normal, 7, ~0ull);
  ASSERT_EQ(swallow_by_0(End::a), 1u);
  acknowledged_by_0_ = kFrameHeaderBytes - 1;
  EXPECT_EQ(poll_for(End::a, 100ms), 1u);
}

TEST_F(LateControl, data_is_never_retransmitted) {
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(10'000);
  pair_.a().post(ends.out, requests_[0], data.data(), data.size());
  ASSERT_EQ(swallow_by_0(End::a), 1u);
  EXPECT_EQ(poll_for(End::a, 1s), 0u);
  pair_.send(End::a, 1);
  EXPECT_EQ(count(End::a, FrameType::segment), 0u);
}

TEST_F(LateControl, nothing_is_retransmitted_while_all_lanes_are_late) {
  pair_.a().open_stream(Priority::normal, 7, ~0ull);
  ASSERT_EQ(swallow_by_0(End::a), 1u);
  pair_.a().send_any_frame(1);
  ASSERT_EQ(pair_.take(End::a, 1), 1u);
  EXPECT_EQ(poll_for(End::a, 1s, {}, {0, 1}), 0u);
  EXPECT_TRUE(pair_.a().watches_control());
  EXPECT_EQ(poll_for(End::a, 20ms), 1u);
}

TEST_F(LateControl, a_lane_alone_is_not_watched) {
  pair_.lose_both(1);
  pair_.run();
  pair_.a().open_stream(Priority::normal, 7, ~0ull);
  ASSERT_GT(pair_.take(End::a, 0), 0u);
  EXPECT_FALSE(pair_.a().watches_control());
  EXPECT_EQ(poll_for(End::a, 1s, {}), 0u);
}

TEST_F(LateControl, new_control_goes_by_a_lane_that_is_not_late) {
  pair_.a().open_stream(Priority::normal, 7, ~0ull);
  ASSERT_EQ(swallow_by_0(End::a), 1u);
  poll_for(End::a, 100ms);
  pair_.a().report(1, now_, {.outstanding_bytes = 10 * MiB});
  pair_.a().open_stream(Priority::normal, 7, ~0ull);
  EXPECT_EQ(pair_.take(End::a, 0), 0u);
  EXPECT_GT(pair_.take(End::a, 1), 0u);
  poll_for(End::a, 20ms, {0, 1}, {});
  pair_.a().open_stream(Priority::normal, 7, ~0ull);
  EXPECT_GT(pair_.take(End::a, 0), 0u) << "late no more";
}

// ---------------------------------------------------------------------------------------- lanes that come after a loss

class NewLane : public LateControl {
 protected:
  // Lane 0 is lost, then lane 2 is added.
  void renew() {
    pair_.lose_both(0);
    pair_.run();
    pair_.add_lane(2, 2, 2);
  }
  // Lane 0 is lost, and 4 MiB wait when lane 2 is added.
  void renew(const Pair::Ends& ends) {
    pair_.lose_both(0);
    pair_.run();
    post_much(ends);
    pair_.add_lane(2, 2, 2);
  }
  // Posts a granted message of 4 MiB.
  void post_much(const Pair::Ends& ends) {
    data_ = pattern(4 * MiB);
    buffer_.resize(data_.size());
    pair_.b().post(ends.in, requests_[0], buffer_.data(), buffer_.size());
    pair_.run();
    pair_.a().post(ends.out, requests_[1], data_.data(), data_.size());
  }
  std::uint64_t bytes_by(LaneId lane) {
    const std::size_t before = pair_.written(End::a).size();
    pair_.send(End::a, lane);
    std::uint64_t bytes = 0;
    for (std::size_t i = before; i < pair_.written(End::a).size(); ++i) {
      bytes += pair_.written(End::a)[i].length;
      segments_ += pair_.written(End::a)[i].type == FrameType::segment;
    }
    return bytes;
  }
  // Reports, 30 ms after the last report, how many bytes of the lane are acknowledged ever and outstanding now.
  void report(LaneId lane, std::uint64_t acknowledged, std::uint64_t outstanding = 0) {
    pair_.a().report(lane, now_ += 30ms, {.outstanding_bytes = outstanding, .acknowledged_bytes = acknowledged});
  }

  std::vector<std::byte> data_, buffer_;
  int segments_ = 0;  // written by bytes_by()
};

// A lane's share of the data would be far more than its padding. The lane gets no data while padding is outstanding.
TEST_F(NewLane, after_a_loss_it_gets_padding_until_that_is_acknowledged) {
  const Pair::Ends ends = pair_.open();
  renew(ends);
  std::uint64_t padding = 0;
  while (const std::uint64_t bytes = bytes_by(2)) padding += bytes;
  EXPECT_GE(padding, LaneProbe::kBytes * 9 / 10);
  EXPECT_LE(padding, LaneProbe::kBytes);
  EXPECT_EQ(segments_, 0);
  for (int i = 0; i < 10; ++i) {
    report(2, 1000, padding);
    EXPECT_EQ(bytes_by(2), 0u);
  }
  EXPECT_FALSE(pair_.a().holds_data(2, 1000)) << "no message waits for padding";
  report(2, LaneProbe::kBytes - 1);
  EXPECT_EQ(bytes_by(2), 0u);
  report(2, LaneProbe::kBytes);
  EXPECT_GT(bytes_by(2), 0u);
  EXPECT_GT(segments_, 0);
  EXPECT_TRUE(pair_.a().holds_data(2, LaneProbe::kBytes));
  pair_.run();
  EXPECT_TRUE(buffer_ == data_);
}

// A lane is doubtful if its first connects failed or its packets were retransmitted, as on a rail that loses four
// packets of ten.
TEST_F(NewLane, a_doubtful_one_gets_padding_without_a_loss) {
  const Pair::Ends ends = pair_.open();
  post_much(ends);
  pair_.add_lane(2, 2, 2, true);
  std::uint64_t padding = 0;
  while (const std::uint64_t bytes = bytes_by(2)) padding += bytes;
  EXPECT_GE(padding, LaneProbe::kBytes * 9 / 10);
  EXPECT_EQ(segments_, 0);
  report(2, LaneProbe::kBytes);
  EXPECT_GT(bytes_by(2), 0u);
  EXPECT_GT(segments_, 0);
  pair_.run();
  EXPECT_TRUE(buffer_ == data_);
}

// Lane 1 is the only lane on the stream's rails, and is lost. Lane 2, which replaces it, may carry nothing.
TEST_F(NewLane, a_stream_of_its_rails_uses_others_until_it_is_proven) {
  const Pair::Ends ends = pair_.open(Priority::normal, 0b110, ~0ull);
  pair_.lose_both(1);
  pair_.run();
  post_much(ends);
  const std::uint64_t sent = bytes_by(0);
  EXPECT_GT(sent, 0u);
  EXPECT_GT(segments_, 0);
  report(0, sent);
  pair_.add_lane(2, 2, 2);
  while (bytes_by(2) > 0) segments_ = 0;
  EXPECT_EQ(segments_, 0) << "padding";
  EXPECT_GT(bytes_by(0), 0u);
  EXPECT_GT(segments_, 0);
  report(2, LaneProbe::kBytes);
  segments_ = 0;
  EXPECT_EQ(bytes_by(0), 0u) << "proven: the stream keeps to it";
  EXPECT_GT(bytes_by(2), 0u);
  pair_.run();
  EXPECT_TRUE(buffer_ == data_);
}

TEST_F(NewLane, a_doubtful_one_carries_data_where_it_is_the_only_one) {
  const Pair::Ends ends = pair_.open();
  pair_.add_lane(2, 2, 2, true);
  pair_.a().set_blocked(0, true);
  pair_.a().set_blocked(1, true);
  pair_.lose_both(0);
  pair_.lose_both(1);
  post_much(ends);
  pair_.run();
  EXPECT_TRUE(buffer_ == data_);
}

TEST_F(NewLane, its_padding_waits_for_no_data) {
  renew();
  EXPECT_TRUE(pair_.a().has_control());
  std::uint64_t padding = 0;
  while (const std::uint64_t bytes = bytes_by(2)) padding += bytes;
  EXPECT_GE(padding, LaneProbe::kBytes * 9 / 10);
  EXPECT_FALSE(pair_.a().has_control());
  pair_.run();
  EXPECT_FALSE(pair_.a().has_control()) << "it was answered: the lane is proven, and owes nothing more";
}

// A lane of 1 Mb/s gets no data, which it would hold up. Padding shows whether the lane has become faster.
TEST_F(NewLane, one_that_is_passed_over_is_asked_by_padding) {
  const Pair::Ends ends = pair_.open();
  pair_.add_lane(2, 2, 2);
  pair_.run();
  pair_.teach(End::a, 0, Rate::from_megabits(1000));
  pair_.teach(End::a, 1, Rate::from_megabits(1000));
  pair_.teach(End::a, 2, Rate::from_megabits(1));
  post_much(ends);
  std::uint64_t bytes = 0;
  for (int i = 0; i < 20; ++i, now_ += 30ms) {
    pair_.a().report(2, now_, {.outstanding_bytes = 0, .acknowledged_bytes = 1 * MiB});
    while (const std::uint64_t more = bytes_by(2)) bytes += more;
  }
  EXPECT_GE(bytes, LaneProbe::kBytes * 9 / 10);
  EXPECT_EQ(segments_, 0);
}

TEST_F(NewLane, after_a_loss_it_gets_no_control_while_a_proven_one_is_there) {
  renew();
  pair_.a().report(1, now_, {.outstanding_bytes = 10 * MiB});
  pair_.a().open_stream(Priority::normal, 7, ~0ull);
  const std::size_t before = pair_.written(End::a).size();
  pair_.send(End::a, 2);
  for (std::size_t i = before; i < pair_.written(End::a).size(); ++i)
    EXPECT_EQ(pair_.written(End::a)[i].type, FrameType::keep);
  EXPECT_EQ(pair_.take(End::a, 1), 1u);
}

TEST_F(NewLane, without_a_loss_it_is_like_the_others) {
  const Pair::Ends ends = pair_.open();
  pair_.add_lane(2, 2, 2);
  pair_.run();
  post_much(ends);
  EXPECT_GT(bytes_by(2), 0u);
  report(2, 1000, 40 * KiB);
  report(2, 40 * KiB, 0);
  EXPECT_GT(bytes_by(2), 0u) << "before a probe is through";
}

TEST_F(NewLane, alone_it_takes_all) {
  const Pair::Ends ends = pair_.open();
  renew(ends);
  ASSERT_GT(bytes_by(2), 0u);
  pair_.lose_both(1);
  report(2, 1000, 0);
  EXPECT_GT(bytes_by(2), 0u);
  pair_.run();
  EXPECT_TRUE(buffer_ == data_);
}

TEST_F(NewLane, the_others_do_not_leave_data_to_one_that_may_take_none) {
  const Pair::Ends ends = pair_.open();
  renew(ends);
  ASSERT_GT(bytes_by(2), 0u);
  report(2, 0, 65'000);
  now_ -= 29ms;
  report(2, 60'000, 5'000);  // in a millisecond
  ASSERT_GT(pair_.a().rate_of(2), Rate::from_megabits(10));
  pair_.teach(End::a, 1, Rate::from_megabits(0.4));
  EXPECT_GT(bytes_by(1), 0u);
}

// Without a report the lane would stay unproven while little waits, and data for its rails would wait for ever.
TEST_F(NewLane, it_wants_a_report_while_anything_waits) {
  const Pair::Ends ends = pair_.open();
  renew();
  EXPECT_FALSE(pair_.a().wants_report(2, now_));
  const auto data = pattern(100);
  pair_.a().post(ends.out, requests_[0], data.data(), data.size());
  EXPECT_TRUE(pair_.a().wants_report(2, now_));
  EXPECT_FALSE(pair_.a().wants_report(1, now_));
}

TEST_F(NewLane, what_the_peer_consumed_proves_it_too) {
  const Pair::Ends ends = pair_.open();
  renew(ends);
  ASSERT_GT(bytes_by(2), 0u);
  pair_.receive(End::b, 2);
  pair_.b().send_any_frame(2);
  pair_.send(End::b, 2);
  EXPECT_EQ(bytes_by(2), 0u);
  pair_.receive(End::a, 2);
  EXPECT_GT(bytes_by(2), 0u);
}

}  // namespace
}  // namespace railweave::protocol
