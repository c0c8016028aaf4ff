#include "base/metrics.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace railweave {
namespace {

constexpr MetricInfo kBytesSent{"lane_bytes_sent", "bytes", "Payload that a lane gave to the kernel."};
constexpr MetricInfo kRailUp{"rail_up", "1", "1 while the rail's link is up."};

struct Seen {
  std::string name, unit, help;
  MetricKind kind;
  MetricLabels labels;
  std::uint64_t value;
};

std::vector<Seen> scrape(const MetricsRegistry& registry) {
  std::vector<Seen> seen;
  registry.visit([&](const MetricsRegistry::Sample& s) {
    seen.push_back(
        {std::string(s.info.name), std::string(s.info.unit), std::string(s.info.help), s.kind, s.labels, s.value});
  });
  return seen;
}

TEST(Metrics, counters_add_up_and_a_gauge_keeps_the_last_value) {
  Counter counter;
  SharedCounter shared;
  Gauge gauge;
  EXPECT_EQ(counter.value() + shared.value() + gauge.value(), 0u);
  counter.add(5);
  counter.add();
  shared.add(7);
  shared.add();
  gauge.set(3);
  gauge.set(2);
  EXPECT_EQ(counter.value(), 6u);
  EXPECT_EQ(shared.value(), 8u);
  EXPECT_EQ(gauge.value(), 2u);
}

TEST(Metrics, a_shared_counter_has_a_cache_line_for_itself) {
  EXPECT_EQ(alignof(SharedCounter), kCacheLineBytes);
  EXPECT_EQ(sizeof(SharedCounter), kCacheLineBytes);
  EXPECT_EQ(sizeof(Counter), sizeof(std::uint64_t));
}

TEST(Metrics, a_shared_counter_loses_nothing_with_many_writers) {
  constexpr std::uint64_t kAdds = 20'000;
  SharedCounter counter;
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w)
    writers.emplace_back([&] {
      for (std::uint64_t i = 0; i < kAdds; ++i) counter.add(3);
    });
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(counter.value(), 4 * kAdds * 3);
}

TEST(MetricsRegistry, visit__metrics_come_in_order_of_registration) {
  MetricsRegistry registry;
  Counter sent;
  Gauge up;
  EXPECT_TRUE(scrape(registry).empty());
  const auto lane = registry.add({{"rail", "eth0"}, {"peer", "a"}}, {{kBytesSent, sent}});
  const auto rail = registry.add({{"rail", "eth0"}}, {{kRailUp, up}, {kBytesSent, sent}});
  sent.add(9);
  up.set(1);
  const auto seen = scrape(registry);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].name, "lane_bytes_sent");
  EXPECT_EQ(seen[0].unit, "bytes");
  EXPECT_EQ(seen[0].help, kBytesSent.help);
  EXPECT_EQ(seen[0].kind, MetricKind::counter);
  EXPECT_EQ(seen[0].labels, (MetricLabels{{"rail", "eth0"}, {"peer", "a"}}));
  EXPECT_EQ(seen[0].value, 9u);
  EXPECT_EQ(seen[1].name, "rail_up");
  EXPECT_EQ(seen[1].kind, MetricKind::gauge);
  EXPECT_EQ(seen[1].labels, (MetricLabels{{"rail", "eth0"}}));
  EXPECT_EQ(seen[1].value, 1u);
  EXPECT_EQ(seen[2].value, 9u);
}

TEST(MetricsRegistry, visit__metrics_come_while_their_registration_lives) {
  MetricsRegistry registry;
  Counter first, second;
  auto kept = registry.add({{"rail", "eth0"}}, {{kBytesSent, first}});
  {
    const auto gone = registry.add({{"rail", "eth1"}}, {{kBytesSent, second}});
    EXPECT_EQ(scrape(registry).size(), 2u);
  }
  ASSERT_EQ(scrape(registry).size(), 1u);
  EXPECT_EQ(scrape(registry)[0].labels[0].second, "eth0");
  kept.reset();
  kept.reset();
  EXPECT_TRUE(scrape(registry).empty());
}

TEST(MetricsRegistry, a_registration_moves) {
  MetricsRegistry registry;
  Counter first, second;
  auto one = registry.add({{"rail", "eth0"}}, {{kBytesSent, first}});
  MetricsRegistry::Registration other(std::move(one));
  one.reset();
  EXPECT_EQ(scrape(registry).size(), 1u);
  other = registry.add({{"rail", "eth1"}}, {{kBytesSent, second}});
  ASSERT_EQ(scrape(registry).size(), 1u);
  EXPECT_EQ(scrape(registry)[0].labels[0].second, "eth1");
  other = MetricsRegistry::Registration();
  EXPECT_TRUE(scrape(registry).empty());
}

// A lane like the engine's: the registration comes after its metrics, and so ends before them.
struct alignas(kCacheLineBytes) CountedLane {
  CountedLane(MetricsRegistry& registry, const std::string& rail)
      : shown(registry.add({{"rail", rail}}, {{kBytesSent, sent}})) {}
  Counter sent;
  MetricsRegistry::Registration shown;
};

TEST(MetricsRegistry, visit__lanes_may_count_come_and_go_meanwhile) {
  constexpr int kLanes = 3, kScrapes = 500;
  MetricsRegistry registry;
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<CountedLane>> lanes;
  for (int i = 0; i < kLanes; ++i) {
    lanes.push_back(std::make_unique<CountedLane>(registry, "eth" + std::to_string(i)));
    threads.emplace_back([&over, &lane = *lanes.back()] {
      while (!over) lane.sent.add(2);
    });
  }
  threads.emplace_back([&] {
    while (!over) CountedLane(registry, "brief").sent.add(1);
  });
  std::map<std::string, std::uint64_t> last;
  for (int n = 0; n < kScrapes; ++n) {
    int lasting = 0;
    for (const Seen& seen : scrape(registry)) {
      const std::string& rail = seen.labels[0].second;
      if (rail == "brief") {
        EXPECT_LE(seen.value, 1u);
        continue;
      }
      ++lasting;
      EXPECT_EQ(seen.value % 2, 0u);
      EXPECT_GE(seen.value, last[rail]);  // a counter only grows
      last[rail] = seen.value;
    }
    EXPECT_EQ(lasting, kLanes);
  }
  over = true;
  for (auto& thread : threads) thread.join();
  for (const Seen& seen : scrape(registry)) EXPECT_GE(seen.value, last[seen.labels[0].second]);
  lanes.clear();
  EXPECT_TRUE(scrape(registry).empty());
}

}  // namespace
}  // namespace railweave
