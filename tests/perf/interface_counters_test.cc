#include "common/interface_counters.h"

#include <gtest/gtest.h>

namespace railweave::perf {
namespace {

constexpr const char* kText =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
    "c\n"
    "    lo:    1000      10    0    0    0     0          0         0     1000      10    0    0    0     0       0   "
    "0\n"
    "  eth0:123456789012     200    0    3    0     0          0         0   777    8    0    4    0     0       0   "
    "0\n";

TEST(InterfaceCounters, reads_names_that_touch_their_numbers) {
  const auto counters = parse_interface_counters(kText);
  ASSERT_EQ(counters.size(), 2u);
  const InterfaceCounters& eth0 = counters.at("eth0");
  EXPECT_EQ(eth0.rx_bytes, 123456789012u);
  EXPECT_EQ(eth0.rx_packets, 200u);
  EXPECT_EQ(eth0.tx_bytes, 777u);
  EXPECT_EQ(eth0.tx_packets, 8u);
  EXPECT_EQ(eth0.drops, 7u);
}

TEST(InterfaceCounters, an_interface_that_appeared_counts_from_zero) {
  const auto later = parse_interface_counters(kText);
  CountersByName earlier;
  earlier["lo"].rx_bytes = 400;
  const auto moved = difference(later, earlier);
  EXPECT_EQ(moved.at("lo").rx_bytes, 600u);
  EXPECT_EQ(moved.at("eth0").tx_bytes, 777u);
}

TEST(InterfaceCounters, this_host_has_a_loopback) {
  auto sampler = InterfaceSampler::open();
  ASSERT_TRUE(sampler.ok()) << sampler.status().message();
  EXPECT_TRUE(sampler->sample().contains("lo"));
}

}  // namespace
}  // namespace railweave::perf
