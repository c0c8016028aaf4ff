// SessionProtocol: which lane carries which frames, and in which order.
#include <gtest/gtest.h>

#include "protocol/session_protocol.h"
#include "tests/unit/protocol/pair.h"

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

class SessionProtocolOutbound : public ::testing::Test {
 protected:
  struct Load {
    Priority priority;
    std::size_t bytes;
    std::uint64_t rails = ~0ull;
  };
  // Opens a stream with a granted receive for each load. start() posts the sends. Returns the streams' ids.
  std::vector<StreamId> prepare(std::initializer_list<Load> loads) {
    std::vector<StreamId> ids;
    for (const Load& load : loads) {
      const Pair::Ends ends = pair_.open(load.priority, load.rails);
      data_.emplace_back(load.bytes);
      buffers_.emplace_back(load.bytes);
      pair_.b().post(ends.in, requests_[used_++], buffers_.back().data(), load.bytes);
      streams_.push_back(ends);
      ids.push_back(ends.out.id());
    }
    pair_.run();
    return ids;
  }
  void start(StreamId id, std::uint64_t order = 0) {
    pair_.a().post(streams_[id].out, requests_[used_++], data_[id].data(), data_[id].size(), 0, order);
  }
  StreamId load(Priority priority, std::size_t bytes, std::uint64_t rails = ~0ull) {
    const StreamId id = prepare({{priority, bytes, rails}})[0];
    start(id);
    return id;
  }
  void add_lanes(int count) {
    pair_.add_lanes(count);
    for (int i = 0; i < count; ++i) lanes_.push_back(LaneId(i));
  }
  // Takes at most `segments` segments, one at a time, and acknowledges each at once. Returns their headers.
  std::vector<FrameHeader> drain(LaneId lane, int segments) {
    std::vector<FrameHeader> out;
    for (int i = 0; i < segments && pair_.take(End::a, lane, 1) == 1; ++i) {
      pair_.write(End::a, lane);
      out.push_back(pair_.written(End::a).back());
      EXPECT_EQ(out.back().type, FrameType::segment);
      pair_.receive(End::b, lane);
      pair_.settle(End::a, lane);
      pair_.send(End::b, lane);
      pair_.receive(End::a, lane);
    }
    return out;
  }

  Pair pair_;
  Requests requests_;
  std::size_t used_ = 0;
  std::vector<LaneId> lanes_;
  std::vector<Pair::Ends> streams_;  // by id
  std::deque<std::vector<std::byte>> data_, buffers_;
};

TEST_F(SessionProtocolOutbound, take_data__an_urgent_stream_overtakes_between_two_segments) {
  add_lanes(1);
  const auto ids = prepare({{Priority::bulk, 4 * MiB}, {Priority::urgent, 300'000}});
  start(ids[0]);
  for (const FrameHeader& h : drain(0, 3)) EXPECT_EQ(h.stream, ids[0]);
  start(ids[1]);
  for (const FrameHeader& h : drain(0, 4)) EXPECT_EQ(h.stream, ids[1]);
}

TEST_F(SessionProtocolOutbound, take_data__a_lane_holds_less_while_an_urgent_stream_is_open) {
  add_lanes(1);
  pair_.teach(End::a, 0, Rate::from_megabits(2000));
  const auto held = [&] {
    load(Priority::bulk, 16 * MiB);
    std::uint64_t bytes = 0;
    while (pair_.take(End::a, 0, 1) == 1) {
      pair_.write(End::a, 0);
      bytes += pair_.written(End::a).back().length;
    }
    pair_.run();
    return bytes;
  };
  EXPECT_NEAR(double(held()), 375'000, 130'000);
  const StreamId urgent = prepare({{Priority::urgent, 1}})[0];
  EXPECT_NEAR(double(held()), 100'000, 50'000);
  pair_.a().close(streams_[urgent].out);
  pair_.run();
  EXPECT_NEAR(double(held()), 375'000, 130'000) << "it is closed";
}

TEST_F(SessionProtocolOutbound, take_data__nothing_starves) {
  add_lanes(1);
  const auto ids = prepare({{Priority::bulk, 16 * MiB}, {Priority::normal, 16 * MiB}, {Priority::urgent, 16 * MiB}});
  for (const StreamId id : ids) start(id);
  std::map<StreamId, int> count;
  for (const FrameHeader& h : drain(0, 180)) ++count[h.stream];
  EXPECT_GE(count[ids[1]], 9);
  EXPECT_GE(count[ids[0]], 9);
  EXPECT_LE(count[ids[1]], 20);
  EXPECT_LE(count[ids[0]], 20);
}

TEST_F(SessionProtocolOutbound, take_data__asking_in_vain_overtakes_nobody) {
  add_lanes(2);
  const auto ids = prepare({{Priority::bulk, 200'000}, {Priority::urgent, 200'000}});
  pair_.teach(End::a, 0, Rate::from_megabits(10'000));
  pair_.teach(End::a, 1, Rate::from_megabits(1));
  for (const StreamId id : ids) start(id);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(pair_.take(End::a, 1, 1), 0u);  // the slow lane leaves all to the fast one
  ASSERT_EQ(pair_.take(End::a, 0, 1), 1u);
  pair_.write(End::a, 0);
  EXPECT_EQ(pair_.written(End::a).back().stream, ids[1]);
}

TEST_F(SessionProtocolOutbound, take_data__two_streams_share_by_bytes) {
  add_lanes(1);
  const auto ids = prepare({{Priority::normal, 8 * MiB}, {Priority::normal, 20'000}});
  const Pair::Ends small = streams_[ids[1]];  // many small messages: a segment each
  start(ids[0]);
  std::map<StreamId, std::uint64_t> bytes;
  for (int round = 0; round < 60; ++round) {
    while (small.out.unfinished() < 40) {
      pair_.b().post(small.in, requests_[1], buffers_[1].data(), buffers_[1].size());
      pair_.a().post(small.out, requests_[2], data_[1].data(), data_[1].size());
      pair_.send(End::b, 0);
      pair_.receive(End::a, 0);
    }
    for (const FrameHeader& h : drain(0, 3)) bytes[h.stream] += h.length;
  }
  const double share = double(bytes[ids[0]]) / double(bytes[ids[0]] + bytes[ids[1]]);
  EXPECT_NEAR(share, 0.5, 0.1);
}

TEST_F(SessionProtocolOutbound, take_data__the_smallest_order_of_a_priority_goes_first) {
  add_lanes(1);
  const auto ids = prepare({{Priority::normal, 1 * MiB},
                            {Priority::normal, 1 * MiB},
                            {Priority::normal, 1 * MiB},
                            {Priority::urgent, 1 * MiB}});
  start(ids[0], 7);
  for (const FrameHeader& h : drain(0, 1)) EXPECT_EQ(h.stream, ids[0]);
  start(ids[1], 9);
  start(ids[2], 5);
  start(ids[3], 11);
  std::vector<StreamId> order;
  for (const FrameHeader& h : drain(0, 100))
    if (order.empty() || order.back() != h.stream) order.push_back(h.stream);
  EXPECT_EQ(order, (std::vector{ids[3], ids[2], ids[0], ids[1]}));
}

TEST_F(SessionProtocolOutbound, take_data__equal_orders_of_oldest_messages_share_by_turns) {
  add_lanes(1);
  const auto ids = prepare({{Priority::normal, 600'000}, {Priority::normal, 600'000}, {Priority::normal, 8 * MiB}});
  pair_.b().post(streams_[ids[0]].in, requests_[used_++], buffers_[2].data(), 8 * MiB);
  start(ids[0], 3);
  start(ids[1], 3);
  start(ids[2], 5);
  pair_.a().post(streams_[ids[0]].out, requests_[used_++], data_[2].data(), 8 * MiB, 0, 9);  // after order 3
  std::map<StreamId, std::uint64_t> bytes;
  std::vector<StreamId> later;
  for (const FrameHeader& h : drain(0, 30)) {
    if (bytes[ids[0]] + bytes[ids[1]] == 1'200'000) {
      later.push_back(h.stream);
    } else {
      EXPECT_NE(h.stream, ids[2]);
      bytes[h.stream] += h.length;
      EXPECT_NEAR(double(bytes[ids[0]]), double(bytes[ids[1]]), 1.0 * kSegmentBytesMax);
    }
  }
  ASSERT_FALSE(later.empty());
  EXPECT_EQ(later, std::vector(later.size(), ids[2]));
}

TEST_F(SessionProtocolOutbound, expedite__goes_before_every_priority_up_to_that_order) {
  add_lanes(1);
  const auto ids = prepare({{Priority::urgent, 4 * MiB}, {Priority::bulk, 300'000}, {Priority::normal, 300'000}});
  pair_.b().post(streams_[ids[1]].in, requests_[used_++], buffers_[0].data(), 4 * MiB);
  start(ids[0], 1);
  start(ids[1], 2);
  start(ids[2], 4);
  for (const FrameHeader& h : drain(0, 1)) EXPECT_EQ(h.stream, ids[0]);
  pair_.a().expedite(streams_[ids[1]].out, 3);
  pair_.a().expedite(streams_[ids[1]].out, 2);  // a lower order changes nothing
  pair_.a().post(streams_[ids[1]].out, requests_[used_++], data_[0].data(), 4 * MiB, 0, 4);
  pair_.a().expedite(streams_[ids[2]].out, 4);
  std::vector<StreamId> order;
  for (const FrameHeader& h : drain(0, 12))
    if (order.empty() || order.back() != h.stream) order.push_back(h.stream);
  EXPECT_EQ(order, (std::vector{ids[1], ids[2], ids[0]}));
}

TEST_F(SessionProtocolOutbound, expedite__what_was_lost_goes_again_in_its_messages_place) {
  add_lanes(2);
  const auto ids = prepare({{Priority::normal, 60'000}, {Priority::normal, 4 * MiB}});
  pair_.b().post(streams_[ids[0]].in, requests_[used_++], buffers_[1].data(), 4 * MiB);
  pair_.run();
  start(ids[0], 1);
  ASSERT_EQ(pair_.take(End::a, 0, 1), 1u);  // the whole message of order 1, never read
  pair_.write(End::a, 0);
  start(ids[1], 5);
  pair_.a().post(streams_[ids[0]].out, requests_[used_++], data_[1].data(), 4 * MiB, 0, 9);
  for (const FrameHeader& h : drain(1, 2)) EXPECT_EQ(h.stream, ids[1]) << "5 goes before 9";
  pair_.lose_both(0);
  while (pair_.take(End::b, 1) > 0) pair_.write(End::b, 1);
  pair_.receive(End::a, 1);  // b's FENCE arrives: the message of order 1 waits again
  std::vector<StreamId> order;
  pair_.send(End::a, 1);
  for (const FrameHeader& h : pair_.written(End::a))
    if (h.type == FrameType::segment) order.push_back(h.stream);
  ASSERT_GE(order.size(), 5u);
  EXPECT_EQ((std::vector{order[0], order[1], order[2], order[3], order[4]}),
            (std::vector{ids[0], ids[1], ids[1], ids[0], ids[1]}));
}

TEST_F(SessionProtocolOutbound, expedite__what_it_overtakes_does_not_starve) {
  add_lanes(1);
  const auto ids = prepare({{Priority::urgent, 16 * MiB}, {Priority::normal, 16 * MiB}});
  start(ids[0], 1);
  start(ids[1], 2);
  pair_.a().expedite(streams_[ids[1]].out, 2);
  std::map<StreamId, int> count;
  for (const FrameHeader& h : drain(0, 100)) ++count[h.stream];
  EXPECT_GE(count[ids[0]], 5);
  EXPECT_LE(count[ids[0]], 7);
}

TEST_F(SessionProtocolOutbound, take_data__a_slow_lane_gets_nothing_that_would_finish_late) {
  add_lanes(2);
  pair_.teach(End::a, 0, Rate::from_megabits(10'000));
  pair_.teach(End::a, 1, Rate::from_megabits(10));
  load(Priority::normal, 256 * KiB);
  EXPECT_EQ(pair_.take(End::a, 1, 1), 0u);
  EXPECT_EQ(pair_.take(End::a, 0, 1), 1u);
}

TEST_F(SessionProtocolOutbound, take_data__a_slow_lane_joins_in_while_much_is_waiting) {
  add_lanes(2);
  pair_.teach(End::a, 0, Rate::from_megabits(10'000));
  pair_.teach(End::a, 1, Rate::from_megabits(10));
  load(Priority::normal, 32 * MiB);
  EXPECT_EQ(pair_.take(End::a, 1, 1), 1u);
}

// A GPU that reads 128-byte lines while they land must find each one written by one lane.
TEST_F(SessionProtocolOutbound, take_data__segments_begin_on_a_line_whatever_the_rates) {
  add_lanes(4);
  for (const LaneId lane : lanes_) pair_.teach(End::a, lane, Rate::from_megabits(777 + 123.4 * lane));
  load(Priority::normal, 16 * MiB + 77);
  int segments = 0;
  for (int round = 0; round < 8; ++round) {
    for (const LaneId lane : lanes_) {
      if (pair_.take(End::a, lane, 1) == 0) continue;
      pair_.write(End::a, lane);
      pair_.receive(End::b, lane);
      pair_.settle(End::a, lane);
      const FrameHeader h = pair_.written(End::a).back();
      if (h.type != FrameType::segment) continue;
      ++segments;
      EXPECT_EQ(SegmentFrame::of(h).offset % 128, 0u) << "on lane " << lane;
      EXPECT_EQ(h.length % 128, 0u) << "on lane " << lane;
    }
  }
  EXPECT_GE(segments, 16);
}

TEST_F(SessionProtocolOutbound, take_data__a_small_message_goes_by_one_of_many_known_lanes) {
  add_lanes(3);
  for (const LaneId lane : lanes_) pair_.teach(End::a, lane, Rate::from_megabits(1000), 200us);
  load(Priority::normal, 8);
  for (const LaneId lane : lanes_) pair_.settle(End::a, lane);
  std::size_t taken = 0;
  for (const LaneId lane : lanes_) taken += pair_.take(End::a, lane, 1);
  EXPECT_EQ(taken, 1u);
}

TEST_F(SessionProtocolOutbound, take_data__a_stream_waits_for_no_lane_it_may_not_use) {
  add_lanes(2);
  pair_.teach(End::a, 0, Rate::from_megabits(10'000));
  pair_.teach(End::a, 1, Rate::from_megabits(10));
  load(Priority::normal, 256 * KiB, 0b10);  // rail 1: the slow lane
  EXPECT_EQ(pair_.take(End::a, 0, 1), 0u);
  EXPECT_EQ(pair_.take(End::a, 1, 1), 1u);
}

TEST_F(SessionProtocolOutbound, take_data__any_lane_serves_where_none_fits_the_rails) {
  add_lanes(2);
  load(Priority::normal, 256 * KiB, 0b1000);
  EXPECT_EQ(pair_.take(End::a, 0, 1), 1u);
}

TEST_F(SessionProtocolOutbound, take_data__a_new_lane_starts_with_one_segment) {
  add_lanes(1);
  load(Priority::normal, 16 * MiB);
  EXPECT_EQ(pair_.take(End::a, 0), 1u);
  EXPECT_EQ(pair_.take(End::a, 0), 0u);
}

TEST_F(SessionProtocolOutbound, take_control__goes_by_the_fastest_lane_that_is_not_stuck) {
  add_lanes(2);
  pair_.teach(End::a, 0, Rate::from_megabits(1000), 10ms);
  pair_.teach(End::a, 1, Rate::from_megabits(1000), 1ms);
  pair_.a().open_stream(Priority::normal, 1, ~0ull);
  EXPECT_EQ(pair_.take(End::a, 0), 0u);
  pair_.a().set_blocked(1, true);
  EXPECT_EQ(pair_.take(End::a, 0), 1u);
  pair_.a().set_blocked(1, false);
  pair_.a().open_stream(Priority::normal, 1, ~0ull);
  EXPECT_EQ(pair_.take(End::a, 1), 1u);
}

TEST_F(SessionProtocolOutbound, next_frames__both_ends_fill_a_lane_with_small_frames_at_once) {
  add_lanes(1);
  std::vector<SendStream*> out_a, out_b;
  std::vector<RecvStream*> in_a, in_b;
  for (int i = 0; i < 40; ++i) {
    const Pair::Ends ends = pair_.open();
    out_a.push_back(&ends.out);
    in_b.push_back(&ends.in);
    SendStream& out = pair_.b().open_stream(Priority::normal, 7, ~0ull);
    pair_.run();
    in_a.push_back(&pair_.a().accept_stream(out.id(), ~0ull));
    out_b.push_back(&out);
    pair_.run();
  }
  std::vector<std::byte> buffer(64);
  for (std::size_t i = 0; i < out_a.size(); ++i)
    for (std::size_t m = 0; m < kMessagesInFlight; ++m) {
      pair_.b().post(*in_b[i], requests_[0], buffer.data(), 50'000);
      pair_.a().post(*in_a[i], requests_[0], buffer.data(), 50'000);
    }
  while (pair_.send(End::a, 0) + pair_.send(End::b, 0) > 0) {  // neither reads: 2560 grants each way do not fit
  }
  EXPECT_TRUE(pair_.a().has_control() || pair_.a().has_lazy());
  pair_.run();
  EXPECT_FALSE(pair_.a().has_control() || pair_.a().has_lazy());
  EXPECT_FALSE(pair_.b().has_control() || pair_.b().has_lazy());
}

}  // namespace
}  // namespace railweave::protocol
