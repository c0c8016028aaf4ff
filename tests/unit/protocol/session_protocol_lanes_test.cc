// SessionProtocol when lanes are lost: fences, and which frames are sent again.
#include <gtest/gtest.h>

#include "protocol/session_protocol.h"
#include "tests/unit/protocol/pair.h"

namespace railweave::protocol {
namespace {

class Fences : public ::testing::Test {
 protected:
  void SetUp() override { pair_.add_lanes(2); }
  // Sends all that waits at `from` by lane 0, so that the test can lose it.
  std::size_t send_by_0(End from) {
    pair_.session(from).set_blocked(1, true);
    const std::size_t n = pair_.send(from, 0);
    pair_.session(from).set_blocked(1, false);
    return n;
  }
  std::size_t count(End end, FrameType type) {
    return std::size_t(std::ranges::count(pair_.written(end), type, &FrameHeader::type));
  }

  Pair pair_;
  Requests requests_;
  LaneId next_ = 2;
};

TEST_F(Fences, lose_lane__exactly_the_segments_after_the_count_go_again) {
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(60'000);
  std::vector<std::byte> buffer(data.size());
  pair_.b().post(ends.in, requests_[0], buffer.data(), buffer.size());
  pair_.run();
  pair_.a().post(ends.out, requests_[1], data.data(), data.size());
  ASSERT_EQ(pair_.send(End::a, 0), 1u);
  pair_.lose(End::b, 0);  // with the segment on the network
  pair_.lose(End::a, 0);
  EXPECT_TRUE(pair_.a().has_control());
  EXPECT_FALSE(pair_.a().has_data());  // until b's FENCE reports what b consumed
  pair_.send(End::a, 1);
  EXPECT_EQ(count(End::a, FrameType::segment), 1u);
  pair_.run();
  EXPECT_EQ(count(End::a, FrameType::segment), 2u);
  EXPECT_TRUE(buffer == data);
  EXPECT_EQ(pair_.done(End::a).size(), 1u);
  EXPECT_EQ(pair_.done(End::b).size(), 1u);
}

TEST_F(Fences, lose_lane__what_was_consumed_unreported_does_not_go_again) {
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(60'000);
  std::vector<std::byte> buffer(data.size());
  pair_.b().post(ends.in, requests_[0], buffer.data(), buffer.size());
  pair_.run();
  pair_.a().post(ends.out, requests_[1], data.data(), data.size());
  ASSERT_EQ(pair_.send(End::a, 0), 1u);
  pair_.receive(End::b, 0);
  pair_.lose_both(0);
  pair_.run();
  EXPECT_EQ(count(End::a, FrameType::segment), 1u);
  EXPECT_EQ(pair_.done(End::a).size(), 1u);
  pair_.a().close(ends.out);
  pair_.b().close(ends.in);
  pair_.run();
  pair_.open();
  pair_.run();
  EXPECT_EQ(pair_.a().send_streams(), 1u);  // no frame of the dead lane holds the closed stream
}

TEST_F(Fences, lose_lane__a_half_read_segment_comes_again_whole) {
  const Pair::Ends ends = pair_.open();
  for (const std::size_t size : {500ul, 60'000ul}) {
    for (const bool posted_before : {true, false}) {
      if (!posted_before && size > 16 * KiB) continue;
      const LaneId lane = LaneId(pair_.a().live_lanes() == 2 && pair_.b().live_lanes() == 2 ? 0 : next_);
      if (lane == next_) pair_.add_lane(next_++, 0, 0);
      const auto data = pattern(size, std::uint32_t(size));
      std::vector<std::byte> buffer(size);
      const std::size_t before = pair_.done(End::b).size();
      if (posted_before) pair_.b().post(ends.in, requests_[0], buffer.data(), size);
      pair_.run();
      pair_.a().post(ends.out, requests_[1], data.data(), data.size());
      for (LaneId other = 1; other < next_; ++other) pair_.a().set_blocked(other, other != lane);
      ASSERT_EQ(pair_.take(End::a, lane, 1), 1u);
      pair_.write(End::a, lane);
      Result<std::span<std::byte>> target = pair_.read_header(End::b, lane);
      ASSERT_TRUE(target.ok());
      std::fill_n(target->data(), size / 2, std::byte{0xee});
      pair_.lose_both(lane);
      for (LaneId other = 1; other < next_; ++other) pair_.a().set_blocked(other, false);
      if (!posted_before) pair_.b().post(ends.in, requests_[0], buffer.data(), size);
      pair_.run();
      ASSERT_EQ(pair_.done(End::b).size(), before + 1);
      EXPECT_TRUE(buffer == data);
    }
  }
}

TEST_F(Fences, lose_lane__taken_and_never_written) {
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(100);
  std::vector<std::byte> buffer(100);
  pair_.a().post(ends.out, requests_[1], data.data(), data.size());
  ASSERT_EQ(pair_.take(End::a, 0), 1u);
  pair_.lose_both(0);
  pair_.b().post(ends.in, requests_[0], buffer.data(), buffer.size());
  pair_.run();
  EXPECT_EQ(pair_.done(End::a).size(), 1u);
  EXPECT_TRUE(buffer == data);
}

TEST_F(Fences, lose_lane__control_of_every_kind_goes_again) {
  // OPEN
  SendStream& out = pair_.a().open_stream(Priority::normal, 7, ~0ull);
  ASSERT_EQ(send_by_0(End::a), 1u);
  pair_.lose_both(0);
  pair_.run();
  ASSERT_EQ(pair_.events(End::b).back().kind, Event::Kind::incoming);
  // OPENED, GRANT
  pair_.add_proven_lane(2);
  RecvStream& in = pair_.b().accept_stream(out.id(), ~0ull);
  std::vector<std::byte> buffer(60'000);
  pair_.b().post(in, requests_[0], buffer.data(), buffer.size());
  EXPECT_EQ(pair_.send(End::b, 1) + pair_.send(End::b, 2), 2u);
  const LaneId used = pair_.arriving(End::a, 1) ? 1 : 2;
  pair_.lose_both(used);
  pair_.run();
  EXPECT_TRUE(out.opened());
  pair_.add_proven_lane(3);
  const auto data = pattern(buffer.size());
  pair_.a().post(out, requests_[1], data.data(), data.size());
  // ACK
  const LaneId rest = used == 1 ? 2 : 1;
  pair_.send(End::a, rest);
  pair_.send(End::a, 3);
  pair_.receive(End::b, rest);
  pair_.receive(End::b, 3);
  ASSERT_EQ(pair_.send(End::b, rest) + pair_.send(End::b, 3), 1u);
  const LaneId acked = pair_.arriving(End::a, 3) ? 3 : rest;
  EXPECT_EQ(pair_.done(End::b).size(), 1u);
  pair_.lose_both(acked);
  EXPECT_EQ(pair_.done(End::a).size(), 0u);
  pair_.run();
  EXPECT_EQ(pair_.done(End::a).size(), 1u);
  EXPECT_TRUE(buffer == data);
  // CLOSE and GOODBYE
  pair_.add_proven_lane(4);
  pair_.a().close(out);
  pair_.a().say_goodbye();
  const LaneId last = acked == 3 ? rest : 3;
  ASSERT_EQ(pair_.send(End::a, last) + pair_.send(End::a, 4), 2u);
  pair_.lose_both(pair_.arriving(End::b, 4) ? 4 : last);
  pair_.run();
  EXPECT_TRUE(pair_.b().peer_said_goodbye());
  pair_.b().post(in, requests_[0], buffer.data(), buffer.size());
  EXPECT_EQ(in.error().code(), Code::left);
}

TEST_F(Fences, on_fence__says_whether_the_lane_was_too_slow) {
  for (const bool too_slow : {false, true}) {
    const LaneId lane = next_++;
    pair_.add_proven_lane(lane);
    pair_.b().lose_lane(lane, too_slow);
    pair_.run();
    ASSERT_EQ(pair_.events(End::a).back().kind, Event::Kind::lane_failed_by_peer);
    EXPECT_EQ(pair_.events(End::a).back().too_slow, too_slow);
    pair_.lose(End::a, lane);
  }
}

TEST_F(Fences, on_fence__before_the_loss_is_seen_here) {
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(100);
  std::vector<std::byte> buffer(100);
  pair_.a().post(ends.out, requests_[1], data.data(), data.size());
  ASSERT_EQ(pair_.send(End::a, 0), 1u);
  pair_.lose(End::b, 0);
  pair_.send(End::b, 1);
  pair_.receive(End::a, 1);
  ASSERT_EQ(pair_.events(End::a).back().kind, Event::Kind::lane_failed_by_peer);
  EXPECT_EQ(pair_.events(End::a).back().lane, 0);
  EXPECT_FALSE(pair_.a().has_data());  // a may still be writing to lane 0
  pair_.lose(End::a, 0);
  EXPECT_TRUE(pair_.a().has_data());
  pair_.b().post(ends.in, requests_[0], buffer.data(), buffer.size());
  pair_.run();
  EXPECT_TRUE(buffer == data);
}

TEST_F(Fences, on_fence__a_fence_is_lost_with_its_own_lane) {
  pair_.add_lane(2, 0, 0);
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(100);
  std::vector<std::byte> buffer(100);
  pair_.a().post(ends.out, requests_[1], data.data(), data.size());
  ASSERT_EQ(pair_.send(End::a, 0), 1u);
  pair_.lose_both(0);
  pair_.send(End::b, 1);  // FENCE(0), lost with lane 1
  pair_.send(End::b, 2);
  pair_.lose_both(pair_.arriving(End::a, 1) ? 1 : 2);
  pair_.b().post(ends.in, requests_[0], buffer.data(), buffer.size());
  pair_.run();
  EXPECT_TRUE(buffer == data);
  EXPECT_GE(count(End::b, FrameType::fence), 3u);
}

TEST_F(Fences, on_fence__each_end_lost_the_lane_with_the_others_fence) {
  pair_.add_lane(2, 0, 0);
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(100);
  std::vector<std::byte> buffer(100);
  pair_.a().post(ends.out, requests_[1], data.data(), data.size());
  ASSERT_EQ(pair_.send(End::a, 1), 1u);
  const auto by = [&](End end, LaneId lane) {
    for (LaneId other = 0; other < 3; ++other) pair_.session(end).set_blocked(other, other != lane);
    return pair_.send(end, lane);
  };
  pair_.lose(End::a, 0);
  EXPECT_EQ(by(End::a, 1), 1u);  // FENCE(0) on lane 1
  pair_.lose(End::b, 1);
  EXPECT_EQ(by(End::b, 0), 1u);  // FENCE(1) on lane 0
  pair_.lose(End::b, 0);
  pair_.lose(End::a, 1);
  by(End::a, 2);
  by(End::b, 2);
  pair_.b().post(ends.in, requests_[0], buffer.data(), buffer.size());
  pair_.run();
  EXPECT_TRUE(buffer == data);
}

TEST_F(Fences, add_lane__what_is_over_is_forgotten_each_time) {
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(60'000);
  std::vector<std::byte> buffer(data.size());
  LaneId flapping = 0;
  for (int i = 0; i < 300; ++i) {
    std::ranges::fill(buffer, std::byte{});
    pair_.b().post(ends.in, requests_[0], buffer.data(), buffer.size());
    pair_.run();
    pair_.a().post(ends.out, requests_[1], data.data(), data.size());
    pair_.a().set_blocked(1, true);
    (void)pair_.send(End::a, flapping);
    pair_.a().set_blocked(1, false);
    pair_.lose_both(flapping);
    pair_.run();
    ASSERT_TRUE(buffer == data) << i;
    pair_.add_lane(flapping = next_++, 0, 0);
    ASSERT_LE(pair_.a().known_lanes(), 2u);
    ASSERT_LE(pair_.b().known_lanes(), 2u);
    EXPECT_EQ(pair_.a().live_lanes(), 2);
  }
  for (const Completion& c : pair_.done(End::a)) EXPECT_TRUE(c.status.ok()) << c.status.message();
  EXPECT_EQ(pair_.done(End::b).size(), 300u);
}

// The peer cannot know that its FENCE arrived, and sends it again when the lane that carried it is lost.
TEST_F(Fences, on_fence__once_more_for_a_lane_that_is_forgotten) {
  pair_.add_lane(2, 0, 0);
  pair_.lose_both(0);
  pair_.a().set_blocked(1, true);  // a sends its FENCE by lane 2, b by lane 1
  pair_.b().set_blocked(2, true);
  pair_.send(End::a, 2);
  pair_.send(End::b, 1);
  pair_.receive(End::b, 2);
  pair_.receive(End::a, 1);
  pair_.b().set_blocked(2, false);
  ASSERT_EQ(count(End::b, FrameType::fence), 1u);
  pair_.b().set_blocked(1, true);
  (void)pair_.b().open_stream(Priority::normal, 7, ~0ull);
  pair_.send(End::b, 2);
  pair_.receive(End::a, 2);  // reports to a that b has a's FENCE; b receives nothing on lane 1
  pair_.add_lane(3, 1, 1);
  EXPECT_EQ(pair_.a().known_lanes(), 3u) << "0 is forgotten";
  EXPECT_EQ(pair_.b().known_lanes(), 4u);
  pair_.lose_both(1);
  pair_.run();
  EXPECT_EQ(count(End::b, FrameType::fence), 3u) << "0's again, and 1's";
  EXPECT_EQ(pair_.a().live_lanes(), 2);
  EXPECT_TRUE(pair_.a().error().ok()) << pair_.a().error().message();
}

TEST_F(Fences, send_any_frame__the_lane_writes_something_once) {
  pair_.run();
  EXPECT_FALSE(pair_.a().has_control());
  pair_.a().send_any_frame(1);
  pair_.a().send_any_frame(1);
  EXPECT_TRUE(pair_.a().has_control());
  EXPECT_EQ(pair_.send(End::a, 0), 0u);
  EXPECT_EQ(pair_.send(End::a, 1), 1u);
  EXPECT_EQ(count(End::a, FrameType::keep), 1u);
  EXPECT_FALSE(pair_.a().has_control());
  EXPECT_EQ(pair_.send(End::a, 1), 0u);
  pair_.a().send_any_frame(0);
  pair_.lose_both(0);
  pair_.run();
  EXPECT_FALSE(pair_.a().has_control());
  pair_.a().send_any_frame(0);
  EXPECT_FALSE(pair_.a().has_control()) << "it is lost";
}

TEST_F(Fences, send_heartbeat_probe__the_peer_answers_by_that_lane) {
  pair_.run();
  const std::uint64_t before = pair_.a().consumed_frames();
  pair_.a().send_heartbeat_probe(1);
  EXPECT_EQ(pair_.send(End::a, 0), 0u);
  EXPECT_EQ(pair_.send(End::a, 1), 1u);
  EXPECT_FALSE(pair_.a().has_control());
  pair_.receive(End::b, 1);
  EXPECT_TRUE(pair_.b().has_control());
  EXPECT_EQ(pair_.send(End::b, 0), 0u);
  EXPECT_EQ(pair_.send(End::b, 1), 1u);
  pair_.receive(End::a, 1);
  EXPECT_EQ(pair_.a().consumed_frames(), before + 1);
  EXPECT_FALSE(pair_.a().has_control()) << "an answer is not answered";
  EXPECT_FALSE(pair_.b().has_control());
}

TEST_F(Fences, lose_lane__without_a_lane_left_all_waits_for_the_next_one) {
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(60'000);
  std::vector<std::byte> buffer(data.size());
  pair_.b().post(ends.in, requests_[0], buffer.data(), buffer.size());
  pair_.run();
  pair_.a().post(ends.out, requests_[1], data.data(), data.size());
  pair_.send(End::a, 0);
  pair_.lose_both(0);
  pair_.lose_both(1);
  EXPECT_EQ(pair_.a().live_lanes(), 0);
  pair_.run();
  EXPECT_TRUE(pair_.done(End::a).empty());
  pair_.add_lane(2, 0, 0);
  pair_.run();
  EXPECT_EQ(pair_.done(End::a).size(), 1u);
  EXPECT_TRUE(buffer == data);
}

// ------------------------------------------------------------------------------------------ fences of unknown lanes

class InjectedFrames : public ::testing::Test {
 protected:
  void SetUp() override { session_.add_lane(0, 0, 0); }
  Status inject(FrameHeader h, std::string_view payload = {}) {
    h.sequence = sequence_++;
    if (h.type != FrameType::segment) h.length = std::uint32_t(payload.size());
    std::array<std::byte, kFrameHeaderBytes> bytes;
    encode(h, bytes);
    Result<std::span<std::byte>> target = session_.on_header(0, bytes);
    if (!target.ok()) return target.status();
    if (!payload.empty() && target->data()) std::memcpy(target->data(), payload.data(), payload.size());
    return session_.on_consumed(0);
  }
  static FrameHeader header(FrameType type, StreamId stream = 0, std::uint8_t flags = 0) {
    FrameHeader h;
    h.type = type;
    h.stream = stream;
    h.flags = flags;
    return h;
  }
  static FrameHeader fence(LaneId lane, std::uint64_t count) { return FenceFrame{.lane = lane, .frames = count}; }
  std::vector<FrameHeader> taken() {
    std::array<OutgoingFrame, 256> frames;
    std::vector<FrameHeader> out;
    const std::size_t n = session_.next_frames(0, frames, true);
    for (std::size_t i = 0; i < n; ++i) out.push_back(frames[i].header);
    return out;
  }

  SessionProtocol session_{SessionOptions{}};
  std::uint32_t sequence_ = 0;
};

TEST_F(InjectedFrames, on_fence__for_a_lane_that_never_came_here_is_answered) {
  ASSERT_TRUE(inject(fence(5, 0)).ok());
  ASSERT_TRUE(inject(fence(5, 0)).ok());
  const auto frames = taken();
  ASSERT_EQ(frames.size(), 1u);
  ASSERT_EQ(frames[0].type, FrameType::fence);
  EXPECT_EQ(FenceFrame::of(frames[0]).lane, 5);
  EXPECT_EQ(FenceFrame::of(frames[0]).frames, 0u);
  session_.add_lane(5, 0, 0);  // the lane's welcome arrived too late
  ASSERT_EQ(session_.events().size(), 1u);
  EXPECT_EQ(session_.events()[0].kind, Event::Kind::lane_failed_by_peer);
  EXPECT_EQ(session_.events()[0].lane, 5);
  EXPECT_EQ(session_.live_lanes(), 1);
  std::array<OutgoingFrame, 4> none;
  EXPECT_EQ(session_.next_frames(5, none, true), 0u);
  session_.lose_lane(5);
  EXPECT_TRUE(session_.error().ok());
}

TEST_F(InjectedFrames, on_fence__unknown_lanes_are_bounded_and_consumed_nothing) {
  EXPECT_EQ(inject(fence(5, 1)).scope(), Scope::lane);
  Status status;
  LaneId lane = 10;
  for (; lane < 1000 && status.ok(); ++lane) status = inject(fence(lane, 0));
  EXPECT_EQ(lane, 10 + kLanesKnownMax + 1);
  EXPECT_EQ(status.scope(), Scope::lane);
}

TEST_F(InjectedFrames, on_fence__an_impossible_count_fails_the_session) {
  session_.add_lane(1, 1, 1);
  session_.lose_lane(1);
  EXPECT_EQ(inject(fence(1, 3)).scope(), Scope::session);
  EXPECT_EQ(session_.error().scope(), Scope::session);
}

// --------------------------------------------------------------------------------------------------- malformed frames

TEST_F(InjectedFrames, on_header__damaged) {
  std::array<std::byte, kFrameHeaderBytes> noise{};
  const Result<std::span<std::byte>> result = session_.on_header(0, noise);
  EXPECT_EQ(result.status().scope(), Scope::lane);
}

TEST_F(InjectedFrames, on_header__on_a_lane_that_was_given_up) {
  session_.lose_lane(0);
  EXPECT_EQ(inject(header(FrameType::keep)).scope(), Scope::lane);
}

TEST_F(InjectedFrames, on_header__out_of_sequence_or_more_consumed_than_written) {
  sequence_ = 1;
  EXPECT_EQ(inject(header(FrameType::keep)).scope(), Scope::lane);
  sequence_ = 0;
  FrameHeader h = header(FrameType::keep);
  h.consumed = 1;
  EXPECT_EQ(inject(h).scope(), Scope::lane);
}

TEST_F(InjectedFrames, on_control__streams_that_were_never_opened) {
  EXPECT_EQ(inject(SegmentFrame{.stream = 3, .length = 1, .size = 1}).scope(), Scope::lane);
  sequence_ = 0;  // a refused segment is not consumed
  for (const FrameType type : {FrameType::close, FrameType::abort})
    EXPECT_EQ(inject(header(type, 3)).scope(), Scope::lane) << name_of(type);
}

TEST_F(InjectedFrames, on_control__receivers_words_for_streams_never_opened) {
  for (const FrameType type : {FrameType::grant, FrameType::ack, FrameType::opened, FrameType::close, FrameType::abort})
    EXPECT_EQ(inject(header(type, 3, kFlagFromReceiver)).scope(), Scope::lane) << name_of(type);
}

TEST_F(InjectedFrames, on_control__words_of_the_wrong_end) {
  ASSERT_TRUE(inject(header(FrameType::open, 0)).ok());
  EXPECT_EQ(inject(header(FrameType::grant, 0)).scope(), Scope::lane);
  EXPECT_EQ(inject(header(FrameType::opened, 0)).scope(), Scope::lane);
  session_.open_stream(Priority::normal, 0, ~0ull);
  EXPECT_EQ(inject(header(FrameType::segment, 9)).scope(), Scope::lane);
}

TEST_F(InjectedFrames, on_open__impossible_priorities_and_ids) {
  EXPECT_EQ(inject(OpenFrame{.stream = 0, .priority = kPriorities}).scope(), Scope::lane);
  EXPECT_EQ(inject(header(FrameType::open, 0xffffffff)).scope(), Scope::lane);
  EXPECT_EQ(inject(header(FrameType::open, kStreamsMax + 1)).scope(), Scope::lane);
  EXPECT_EQ(session_.recv_streams(), 0u);
}

TEST_F(InjectedFrames, on_open__of_more_streams_than_a_session_has) {
  for (StreamId id = 0; id < kStreamsMax; ++id) {
    ASSERT_TRUE(inject(header(FrameType::open, id)).ok()) << id;
    session_.accept_stream(id, ~0ull, false);
  }
  const Status more = inject(header(FrameType::open, kStreamsMax));
  EXPECT_EQ(more.scope(), Scope::session);
  EXPECT_NE(more.message().find("more than 65536 streams"), std::string::npos) << more.message();
  EXPECT_EQ(session_.recv_streams(), kStreamsMax);
}

TEST_F(InjectedFrames, on_open__repeated) {
  ASSERT_TRUE(inject(header(FrameType::open, 0)).ok());
  ASSERT_TRUE(inject(header(FrameType::open, 0)).ok());
  EXPECT_EQ(session_.events().size(), 1u);
}

TEST_F(InjectedFrames, on_segment__of_a_stream_already_forgotten_goes_nowhere) {
  ASSERT_TRUE(inject(header(FrameType::open, 0)).ok());
  session_.refuse_stream(0, "no");
  ASSERT_EQ(taken().size(), 1u);
  session_.on_written(0, 1);
  session_.on_released(0, 1);
  FrameHeader h = header(FrameType::keep);
  h.consumed = 1;
  ASSERT_TRUE(inject(h).ok());
  ASSERT_EQ(session_.recv_streams(), 0u);
  FrameHeader segment = SegmentFrame{.stream = 0, .length = 100, .size = 100};
  segment.consumed = 1;
  std::array<std::byte, kFrameHeaderBytes> bytes;
  segment.sequence = sequence_++;
  encode(segment, bytes);
  Result<std::span<std::byte>> target = session_.on_header(0, bytes);
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->data(), nullptr);
  EXPECT_EQ(target->size(), 100u);
  EXPECT_TRUE(session_.on_consumed(0).ok());
}

// A lane that looks fast because of a burst at its start.
class LaneRate : public ::testing::Test {
 protected:
  void SetUp() override {
    pair_.add_lanes(1);
    report(64 * KiB);
    now_ += std::chrono::microseconds(500);
    acknowledged_ += 64 * KiB;
    report(0);
    ASSERT_GT(most(), 150 * KiB);
  }
  void report(std::uint64_t outstanding) { pair_.a().report(0, now_, {outstanding, acknowledged_, kRtt}); }
  std::uint64_t most() {
    return outstanding_bytes_max({.rate_known = true, .rate = pair_.a().rate_of(0), .min_rtt = kRtt});
  }
  // `bytes` are outstanding for 8 ms, and are then acknowledged all at once.
  void bunch(std::uint64_t bytes) {
    for (int poll = 0; poll < 16; ++poll, now_ += std::chrono::microseconds(500)) report(bytes);
    acknowledged_ += bytes;
  }

  static constexpr Nanos kRtt = std::chrono::microseconds(50);
  Pair pair_;
  TimePoint now_{std::chrono::seconds(1)};
  std::uint64_t acknowledged_ = 0;
};

// Many senders share a rail, so that a round trip is the queue that they make. No sample ends.
TEST_F(LaneRate, report__bunches_bring_a_full_lane_down_to_what_any_lane_has) {
  for (int i = 0; i < 20; ++i) bunch(most());
  report(0);
  EXPECT_LT(most(), 3 * kSegmentBytesMin);
}

TEST_F(LaneRate, report__a_lane_that_could_hold_more_keeps_its_rate) {
  const std::uint64_t before = most();
  for (int i = 0; i < 20; ++i) bunch(before / 2);
  report(0);
  EXPECT_GE(most(), before);
}

}  // namespace
}  // namespace railweave::protocol
