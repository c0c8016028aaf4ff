#include "top/rail_rates.h"

#include <gtest/gtest.h>

namespace railweave::top {
namespace {

EngineStats with_lane(std::uint64_t sent, std::uint64_t received, std::uint64_t retransmits) {
  LaneStats lane;
  lane.rail = "eth0";
  lane.bytes_sent = sent;
  lane.bytes_received = received;
  lane.retransmits = retransmits;
  lane.outstanding_bytes = 4096;
  SessionStats session;
  session.lanes = {lane};
  EngineStats stats;
  stats.rails = {{"eth0", {}, true}, {"eth1", {}, true}};
  stats.sessions = {session};
  return stats;
}

TEST(RailRates, are_what_counters_grew_by_in_the_time) {
  const auto rates = rail_rates(with_lane(1000, 500, 1), with_lane(5000, 1500, 4), std::chrono::seconds(2));
  ASSERT_EQ(2u, rates.size());
  EXPECT_EQ("eth0", rates[0].rail);
  EXPECT_EQ(1, rates[0].lanes);
  EXPECT_EQ(2000, rates[0].sending.bytes_per_s);
  EXPECT_EQ(500, rates[0].receiving.bytes_per_s);
  EXPECT_EQ(3u, rates[0].retransmits);
  EXPECT_EQ(4096u, rates[0].outstanding_bytes);
  EXPECT_EQ("eth1", rates[1].rail);
  EXPECT_EQ(0, rates[1].lanes);
  EXPECT_EQ(0, rates[1].sending.bytes_per_s);
}

TEST(RailRates, of_counters_that_fell_are_zero) {
  const auto rates = rail_rates(with_lane(5000, 500, 9), with_lane(1000, 600, 0), std::chrono::seconds(1));
  EXPECT_EQ(0, rates[0].sending.bytes_per_s);
  EXPECT_EQ(100, rates[0].receiving.bytes_per_s);
  EXPECT_EQ(0u, rates[0].retransmits);
}

TEST(RailRates, without_time_are_zero) {
  EXPECT_EQ(0, rail_rates(with_lane(0, 0, 0), with_lane(9, 9, 0), Nanos(0))[0].sending.bytes_per_s);
}

}  // namespace
}  // namespace railweave::top
