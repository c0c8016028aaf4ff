// Lanes of every wire: budgets, back-pressure, and health().
#include "tests/contract/lane_contract.h"

namespace railweave::wire::contract {
namespace {

using LaneFlow = LaneContract;

TEST_P(LaneFlow, tiny_read_budgets) {
  for (std::size_t size : {0u, 1u, 50u, 1000u, 3000u, 9000u, 0u}) send(near, far, size);
  for (std::size_t budget = 1; !all_arrived() && !HasFailure(); budget = budget % 97 + 1) turn(budget);
  finish();
}

TEST_P(LaneFlow, read_keeps_its_budget_to_about_a_frame) {
  constexpr std::size_t kFrame = 256 * KiB, kBudget = 64 * KiB;
  for (int i = 0; i < 16; ++i) send(near, far, kFrame);
  turn_until(
      [&] {
        EXPECT_LE(far.last_read.bytes, kBudget + kFrame + kHeaderBytes);
        return all_arrived();
      },
      kBudget);
}

TEST_P(LaneFlow, a_reader_who_does_not_read_stops_the_writer) {
  for (int i = 0; i < 64; ++i) send(near, far, 256 * KiB);
  write_until_stuck(near);
  EXPECT_TRUE(near.last_write.blocked);
  EXPECT_LT(near.handed, near.queued) << "16 MiB went into a lane that nobody reads";
  const std::size_t stuck_at = near.taken;
  EXPECT_EQ(near.write(), 0u);
  EXPECT_EQ(near.taken, stuck_at) << "a blocked lane took more frames";
  finish();
}

TEST_P(LaneFlow, both_writers_stuck_and_then_not) {
  for (int i = 0; i < 64; ++i) {
    send(near, far, 256 * KiB);
    send(far, near, 256 * KiB);
  }
  write_until_stuck(near);
  write_until_stuck(far);
  finish();
}

TEST_P(LaneFlow, an_idle_lane_is_not_blocked_for_writing_but_is_for_reading) {
  send(near, far, 10);
  finish();
  near.write();
  EXPECT_EQ(near.last_write.bytes, 0u);
  EXPECT_FALSE(near.last_write.blocked);
  far.read(1 * MiB);
  EXPECT_EQ(far.last_read.bytes, 0u);
  EXPECT_TRUE(far.last_read.blocked);
}

TEST_P(LaneFlow, no_frame_boundary_while_stuck_inside_a_frame) {
  EXPECT_TRUE(pair.near->at_frame_boundary());
  for (int i = 0; i < 16; ++i) send(near, far, 1 * MiB);
  write_until_stuck(near);
  EXPECT_EQ(pair.near->at_frame_boundary(), near.taken == near.handed);
  finish();
  EXPECT_TRUE(pair.near->at_frame_boundary());
}

TEST_P(LaneFlow, health_adds_up_and_only_grows) {
  for (int i = 0; i < 100; ++i) send(near, far, 200'000);
  std::uint64_t acknowledged = 0;
  turn_until([&] {
    const LaneHealth h = pair.near->health();
    EXPECT_GE(h.acknowledged_bytes, acknowledged);
    acknowledged = h.acknowledged_bytes;
    EXPECT_EQ(h.acknowledged_bytes + h.outstanding_bytes, near.taken_bytes);
    return all_arrived() && h.outstanding_bytes == 0;
  });
  const LaneHealth h = pair.near->health();
  EXPECT_EQ(h.acknowledged_bytes, near.taken_bytes);
  EXPECT_GT(h.min_rtt, Nanos(0));
  EXPECT_EQ(pair.far->health().acknowledged_bytes, 0u);
}

TEST_P(LaneFlow, health_shows_what_a_silent_reader_has_not_taken) {
  for (int i = 0; i < 64; ++i) send(near, far, 256 * KiB);
  write_until_stuck(near);
  EXPECT_GT(pair.near->health().outstanding_bytes, 0u);
  finish();
}

INSTANTIATE_TEST_SUITE_P(Wires, LaneFlow, ::testing::ValuesIn(all_factories()),
                         [](const auto& wire) { return wire.param.name; });

}  // namespace
}  // namespace railweave::wire::contract
