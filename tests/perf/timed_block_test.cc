#include "common/timed_block.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace railweave::perf {
namespace {

using std::chrono::milliseconds;
using Edge = TimedBlock::Edge;

TimedBlock block_of(Nanos warmup, Nanos duration) {
  return TimedBlock(BlockPlan{warmup, duration, milliseconds(50)}, std::move(*InterfaceSampler::open()));
}

// Returns totals that grow by `bytes` each millisecond.
Totals totals_at(Nanos t, std::uint64_t bytes) {
  Totals totals;
  totals.received_bytes = bytes * std::uint64_t(t / milliseconds(1));
  return totals;
}

TEST(TimedBlock, counts_what_moved_between_its_edges) {
  TimedBlock block = block_of(milliseconds(100), milliseconds(500));
  const TimePoint start{std::chrono::seconds(5)};
  block.start(start);
  Nanos begun{0}, ended{0};
  for (Nanos t{0}; t < milliseconds(800); t += milliseconds(1)) {
    const Edge edge = block.tick(start + t, totals_at(t, 10));
    if (edge == Edge::begins) begun = t;
    if (edge == Edge::ends) ended = t;
  }
  EXPECT_EQ(begun, milliseconds(100));
  EXPECT_EQ(ended, milliseconds(600));
  EXPECT_EQ(block.length(), milliseconds(500));
  EXPECT_EQ(block.moved().received_bytes, 5000u);
}

TEST(TimedBlock, its_series_adds_up_even_when_passes_are_late) {
  TimedBlock block = block_of(Nanos(0), milliseconds(500));
  const TimePoint start{std::chrono::seconds(5)};
  block.start(start);
  for (Nanos t{0}; !block.ended(); t += milliseconds(t > milliseconds(200) ? 70 : 1)) {
    block.tick(start + t, totals_at(t, 10));
  }
  const auto series = block.to_json(1)["series"];
  std::uint64_t sum = 0;
  for (const auto& bin : series["received_bytes"]) sum += bin.get<std::uint64_t>();
  EXPECT_EQ(sum, block.moved().received_bytes);
  EXPECT_EQ(series["t_s"].size(), series["received_bytes"].size());
  double before = 0;
  for (const auto& t : series["t_s"]) {
    EXPECT_GT(t.get<double>(), before);
    before = t.get<double>();
  }
}

TEST(TimedBlock, without_a_duration_it_ends_on_request) {
  TimedBlock block = block_of(Nanos(0), Nanos(0));
  const TimePoint start{std::chrono::seconds(5)};
  block.start(start);
  EXPECT_EQ(block.tick(start, Totals{}), Edge::begins);
  EXPECT_EQ(block.tick(start + std::chrono::hours(1), Totals{}), Edge::none);
  block.end(start + std::chrono::hours(2), Totals{});
  EXPECT_TRUE(block.ended());
  EXPECT_EQ(block.length(), std::chrono::hours(2));
}

}  // namespace
}  // namespace railweave::perf
