// What the lanes of a job would pin, and whether the limit has room for them.
#include "info/pinned_memory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "info/host_report.h"

namespace railweave::info {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

engine::WireOnRail verbs(std::uint64_t bound, Status why_not = {}) {
  return {"verbs", std::move(why_not), {2 * kMiB, 2 * kMiB, bound}};
}

engine::WireOnRail tcp() { return {"tcp", {}, {}}; }

Rail rail_of(double megabits) {
  Rail rail;
  rail.speed = Rate::from_megabits(megabits);
  return rail;
}

TEST(PinForecast, counts_the_lanes_of_all_rails_that_have_the_wire) {
  const std::vector<Rail> rails = {rail_of(100'000), rail_of(10'000), rail_of(10'000)};
  const Status missing(Code::invalid_config, Scope::engine, "no device");
  const auto found = forecast_pins(rails, {{tcp(), verbs(kMiB)}, {tcp(), verbs(kMiB)}, {verbs(kMiB, missing)}}, {});
  ASSERT_EQ(1u, found.size()) << "tcp pins nothing";
  EXPECT_EQ("verbs", found[0].wire);
  EXPECT_EQ(2u, found[0].rails);
  EXPECT_EQ(5u, found[0].lanes_per_peer) << "a rail of 100 Gb/s has four lanes, one of 10 Gb/s has one";
  EXPECT_EQ((512 * 5 + 2) * 2 * kMiB, found[0].bytes(512));
}

TEST(PinForecast, the_setting_decides_how_many_lanes_there_are) {
  Config config;
  config.lanes_per_rail = 3;
  EXPECT_EQ(3u, forecast_pins({rail_of(1000)}, {{verbs(kMiB)}}, config).at(0).lanes_per_peer);
}

TEST(PinForecast, finds_the_peers_that_the_bound_has_room_for) {
  const auto peers = [](std::uint64_t bound) {
    return forecast_pins({rail_of(1000)}, {{verbs(bound)}}, {}).at(0).peers_within_bound();
  };
  EXPECT_EQ(0u, peers(4 * kMiB - 1));
  EXPECT_EQ(1u, peers(4 * kMiB));
  EXPECT_EQ(7u, peers(16 * kMiB));
  EXPECT_EQ(512u, peers(wire::PinnedBytes::kUnbounded));
}

TEST(PinForecast, is_shown_with_its_bound) {
  const std::string text = pins_text(forecast_pins({rail_of(1000)}, {{verbs(4 * kMiB)}}, {}));
  EXPECT_NE(std::string::npos, text.find("verbs")) << text;
  EXPECT_NE(std::string::npos, text.find("1.08 GB")) << text;
  EXPECT_NE(std::string::npos, text.find("4.19 MB, room for 1 peer\n")) << text;
  const std::string endless = pins_text(forecast_pins({rail_of(1000)}, {{verbs(wire::PinnedBytes::kUnbounded)}}, {}));
  EXPECT_NE(std::string::npos, endless.find("no limit\n")) << endless;
  EXPECT_EQ("", pins_text({}));
}

TEST(PinForecast, has_null_where_there_is_no_bound) {
  const auto json = pins_json(forecast_pins({rail_of(1000)}, {{verbs(wire::PinnedBytes::kUnbounded)}}, {}));
  EXPECT_TRUE(json[0]["bound_bytes"].is_null());
  EXPECT_EQ(513 * 2 * kMiB, json[0]["bytes_512_peers"].get<std::uint64_t>());
}

}  // namespace
}  // namespace railweave::info
