// Lanes of every wire: frames arrive whole, in order, and at their targets.
#include <random>

#include "tests/contract/lane_contract.h"

namespace railweave::wire::contract {
namespace {

using LaneData = LaneContract;

TEST_P(LaneData, one_frame_without_payload) {
  send(near, far, 0);
  finish();
  EXPECT_EQ(far.arrived, 1u);
}

TEST_P(LaneData, every_size) {
  for (std::size_t size :
       {0u,    1u,    7u,     47u,    48u,    49u,    127u,   128u,   511u,    512u,     513u,     4095u, 4096u, 8191u,
        8192u, 8193u, 16383u, 16384u, 16385u, 65535u, 65536u, 65537u, 262144u, 1048575u, 1048576u, 0u,    3u})
    send(near, far, size);
  finish();
}

TEST_P(LaneData, many_small_frames) {
  for (int i = 0; i < 5000; ++i) send(near, far, std::size_t(i) % 67);
  finish();
  EXPECT_EQ(far.arrived, 5000u);
}

TEST_P(LaneData, both_ways_at_once) {
  for (int i = 0; i < 60; ++i) {
    send(near, far, 100'000);
    send(far, near, 70'000);
    send(far, near, 0);
  }
  finish();
  EXPECT_EQ(far.arrived, 60u);
  EXPECT_EQ(near.arrived, 120u);
}

TEST_P(LaneData, mixed_sizes_at_random) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 600; ++i) {
    const auto size = [&] { return random() % (std::size_t{1} << (random() % 18)); };
    send(near, far, size());
    if (random() % 2) send(far, near, size());
  }
  turn_until([&] { return all_arrived(); }, 1 + random() % 100'000);
  finish();
}

TEST_P(LaneData, one_frame_at_a_time) {
  near.frames_per_ask = 1;
  for (int i = 0; i < 300; ++i) send(near, far, std::size_t(i) * 100);
  finish();
}

TEST_P(LaneData, ping_pong) {
  for (int i = 0; i < 200; ++i) {
    send(near, far, 8);
    finish();
    send(far, near, 8);
    finish();
  }
}

TEST_P(LaneData, thrown_away_payload) {
  for (std::size_t size : {1u, 100u, 5000u, 20'000u, 300'000u, 1'000'000u}) {
    far.expect_discarded(near.queue(size));
    send(near, far, size / 2);
  }
  finish();
}

TEST_P(LaneData, stats_count_frames_and_payload) {
  for (int i = 0; i < 50; ++i) send(near, far, 1000);
  finish();
  const LaneStats sent = pair.near->stats(), got = pair.far->stats();
  EXPECT_EQ(sent.frames_sent, 50u);
  EXPECT_EQ(sent.bytes_sent, 50'000u);
  EXPECT_EQ(got.frames_received, 50u);
  EXPECT_EQ(got.bytes_received, 50'000u);
  EXPECT_EQ(got.frames_sent, 0u);
  EXPECT_FALSE(sent.rail.empty());
  EXPECT_EQ(sent.local_address, got.remote_address);
}

TEST_P(LaneData, metrics_are_the_same_from_birth_to_end_and_outlive_the_lane) {
  const std::shared_ptr<LaneMetrics> metrics = pair.near->metrics();
  const int descriptor = pair.near->descriptor();
  for (int i = 0; i < 5; ++i) send(near, far, 100);
  finish();
  (void)pair.near->health();
  EXPECT_EQ(pair.near->metrics(), metrics);
  EXPECT_EQ(pair.near->descriptor(), descriptor);
  while (!pair.near->end()) pair.pass_time();
  pair.near.reset();
  EXPECT_EQ(metrics->sent.frames.value(), 5u);
  EXPECT_EQ(metrics->sent.payload_bytes.value(), 500u);
  EXPECT_EQ(metrics->closed.value(), 0u);  // the lane's driver sets this counter
}

INSTANTIATE_TEST_SUITE_P(Wires, LaneData, ::testing::ValuesIn(all_factories()),
                         [](const auto& wire) { return wire.param.name; });

}  // namespace
}  // namespace railweave::wire::contract
