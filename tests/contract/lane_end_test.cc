// Lanes of every wire: orderly ends, half-closes, and errors.
#include "tests/contract/lane_contract.h"

namespace railweave::wire::contract {
namespace {

class LaneEnds : public LaneContract {
 protected:
  void expect_ended_by_peer(const Recorder& who) {
    EXPECT_EQ(who.read_error.code(), Code::remote) << who.describe();
    EXPECT_EQ(who.read_error.scope(), Scope::lane);
  }
};

TEST_P(LaneEnds, the_peers_end_is_seen_after_all_data) {
  for (int i = 0; i < 20; ++i) send(near, far, std::size_t(i) * 1000);
  turn_until([&] { return near.freed == near.queued; }, 1000);  // all is written, little is read
  pair.near.reset();
  turn_until([&] { return !far.read_error.ok(); }, 1000);
  EXPECT_EQ(far.arrived, 20u);
  expect_ended_by_peer(far);
}

TEST_P(LaneEnds, an_error_sticks) {
  pair.near.reset();
  turn_until([&] { return !far.read_error.ok(); });
  const auto again = pair.far->read(far, 1000);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().message(), far.read_error.message());
}

TEST_P(LaneEnds, an_orderly_end_is_called_so) {
  send(near, far, 1000);
  finish();
  EXPECT_TRUE(pair.near->finish_writing().ok());
  turn_until([&] { return !far.read_error.ok(); });
  EXPECT_EQ(pair.far->why_ended(), LaneEnd::closed);
}

TEST_P(LaneEnds, a_peer_gone_with_input_unread_is_no_failure_of_this_host) {
  for (int i = 0; i < 64; ++i) send(near, far, 256 * KiB);
  write_until_stuck(near);
  pair.far.reset();
  turn_until([&] { return !near.read_error.ok(); });
  EXPECT_TRUE(pair.near->why_ended() == LaneEnd::closed || pair.near->why_ended() == LaneEnd::reset);
}

TEST_P(LaneEnds, half_close_and_the_other_way_goes_on) {
  for (int i = 0; i < 10; ++i) send(near, far, 20'000);
  turn_until([&] { return all_arrived(); });
  EXPECT_TRUE(pair.near->finish_writing().ok());
  turn_until([&] { return !far.read_error.ok(); });
  expect_ended_by_peer(far);
  for (int i = 0; i < 10; ++i) send(far, near, 20'000);
  finish();
  EXPECT_EQ(near.arrived, 10u);
  EXPECT_TRUE(pair.far->finish_writing().ok());
  turn_until([&] { return !near.read_error.ok(); });
  expect_ended_by_peer(near);
}

TEST_P(LaneEnds, half_close_waits_for_what_was_taken) {
  near.frames_per_ask = 2;
  for (int i = 0; i < 16; ++i) send(near, far, 1 * MiB);
  write_until_stuck(near);
  EXPECT_TRUE(pair.near->finish_writing().ok());
  turn_until([&] { return !far.read_error.ok(); });
  EXPECT_EQ(far.arrived, near.taken);
  turn_until([&] { return near.freed == near.taken; });
  EXPECT_LT(near.taken, near.queued) << "frames were taken after finish_writing()";
  expect_ended_by_peer(far);
  turn_until([&] { return pair.near->health().outstanding_bytes == 0; });
}

TEST_P(LaneEnds, finish_writing_twice_is_fine) {
  EXPECT_TRUE(pair.near->finish_writing().ok());
  EXPECT_TRUE(pair.near->finish_writing().ok());
  turn_until([&] { return !far.read_error.ok(); });
}

TEST_P(LaneEnds, a_bad_header_ends_the_lane) {
  for (int i = 0; i < 3; ++i) send(near, far, 3000);
  finish();
  far.answer_to_header = Status(Code::remote, Scope::lane, "bad header");
  for (int i = 0; i < 3; ++i) send(near, far, 3000);
  turn_until([&] { return !far.read_error.ok(); });
  EXPECT_EQ(far.read_error.message(), "bad header");
  EXPECT_EQ(far.arrived, 3u);
  far.answer_to_header = Status();
  EXPECT_FALSE(pair.far->read(far, 1 * MiB).ok());
  EXPECT_EQ(far.arrived, 3u);
}

TEST_P(LaneEnds, a_refused_frame_ends_the_lane) {
  for (int i = 0; i < 3; ++i) send(near, far, 3000);
  finish();
  far.answer_to_consumed = Status(Code::remote, Scope::lane, "cannot be");
  for (int i = 0; i < 3; ++i) send(near, far, 3000);
  turn_until([&] { return !far.read_error.ok(); });
  EXPECT_EQ(far.read_error.message(), "cannot be");
  EXPECT_EQ(far.arrived, 3u);
}

TEST_P(LaneEnds, a_peer_gone_while_we_write_is_reported_by_read) {
  for (int i = 0; i < 64; ++i) send(near, far, 256 * KiB);
  write_until_stuck(near);
  pair.far.reset();
  turn_until([&] { return !near.read_error.ok(); });
  expect_ended_by_peer(near);
  EXPECT_TRUE(near.write_error.ok() || near.write_error.code() == Code::remote);
}

TEST_P(LaneEnds, what_the_peer_said_is_read_though_writing_failed) {
  for (int i = 0; i < 5; ++i) send(far, near, 10'000);
  send(near, far, 100);  // unread at far when it closes
  turn_until([&] { return far.handed == 5 && near.handed == 1; }, 0);
  for (int i = 0; i < 100; ++i) pair.pass_time();
  pair.far.reset();
  for (int i = 0; i < 10; ++i) {
    near.queue(1000);
    near.write();
    pair.pass_time();
  }
  turn_until([&] { return !near.read_error.ok(); });
  EXPECT_EQ(near.arrived, 5u);
  expect_ended_by_peer(near);
}

INSTANTIATE_TEST_SUITE_P(Wires, LaneEnds, ::testing::ValuesIn(all_factories()),
                         [](const auto& wire) { return wire.param.name; });

}  // namespace
}  // namespace railweave::wire::contract
