#include "common/latency.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace railweave::perf {
namespace {

TEST(Latency, percentiles_are_samples_by_nearest_rank) {
  LatencySamples samples(100);
  for (int i = 100; i >= 1; --i) samples.add(std::chrono::microseconds(i));
  EXPECT_EQ(samples.percentile(0.5), std::chrono::microseconds(50));
  EXPECT_EQ(samples.percentile(0.99), std::chrono::microseconds(99));
  EXPECT_EQ(samples.percentile(0), std::chrono::microseconds(1));
  const auto json = samples.to_json();
  EXPECT_DOUBLE_EQ(json["min"].get<double>(), 1);
  EXPECT_DOUBLE_EQ(json["p90"].get<double>(), 90);
  EXPECT_DOUBLE_EQ(json["max"].get<double>(), 100);
  EXPECT_DOUBLE_EQ(json["mean"].get<double>(), 50.5);
}

TEST(Latency, one_sample_is_every_percentile_and_none_is_null) {
  LatencySamples samples(1);
  EXPECT_TRUE(samples.to_json().is_null());
  samples.add(std::chrono::microseconds(7));
  EXPECT_EQ(samples.percentile(0.01), std::chrono::microseconds(7));
  EXPECT_EQ(samples.percentile(1), std::chrono::microseconds(7));
}

}  // namespace
}  // namespace railweave::perf
