// The host report: the errors of settings with which no engine starts, and the verdicts on rails.
#include "info/host_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>

#include "collectives/config/config_section.h"
#include "railweave/endpoint.h"
#include "tests/engine/key_file.h"
#include "wire/bootstrap/socket.h"

namespace railweave::info {
namespace {

using engine_test::KeyFile;

Config on_loopback() {
  Config config;
  config.rails = {"lo"};
  config.stats_dir.clear();
  return config;
}

nlohmann::ordered_json error_of(const Config& config) { return host_json(survey_host(config))["error"]; }

TEST(HostReport, says_what_an_engine_would_say) {
  const KeyFile open_to_all(engine_test::kSomeKey, 0644), short_key("short\n");
  const std::vector<std::function<void(Config&)>> wrong = {
      [](Config& c) { c.key_file = "/nonexistent"; },    [&](Config& c) { c.key_file = open_to_all.path(); },
      [&](Config& c) { c.key_file = short_key.path(); }, [](Config& c) { c.encrypt = true; },
      [](Config& c) { c.congestion_control = "bbrx"; },  [](Config& c) { c.rails = {"no_such_rail"}; },
  };
  for (const auto& spoil : wrong) {
    Config config = on_loopback();
    spoil(config);
    const auto engine = Engine::start(config);
    ASSERT_FALSE(engine.ok());
    EXPECT_EQ(engine.status().message(), error_of(config));
  }
}

TEST(HostReport, of_settings_that_an_engine_takes_has_no_error_and_no_key) {
  const KeyFile key;
  Config config = on_loopback();
  config.key_file = key.path();
  config.encrypt = true;
  config.congestion_control = "cubic";
  config.of<collectives::CollectivesConfig>() = {.algorithms = "all_reduce=ring", .schedule = "window:64M"};
  const HostReport report = survey_host(config);
  EXPECT_TRUE(report.status.ok()) << report.status.message();
  EXPECT_TRUE(host_json(report)["error"].is_null());
  EXPECT_EQ(std::string::npos, (host_json(report).dump() + host_text(report)).find("some key"));
}

TEST(HostReport, names_what_collectives_would_refuse) {
  Config config = on_loopback();
  auto& choice = config.of<collectives::CollectivesConfig>();
  choice.algorithms = "rings";
  EXPECT_EQ(0u, error_of(config).get<std::string>().find("RAILWEAVE_ALGO: found 'rings'"));
  choice = {.algorithms = "", .schedule = "window:0"};
  EXPECT_EQ(0u, error_of(config).get<std::string>().find("RAILWEAVE_SCHEDULE: found 'window:0'"));
}

TEST(HostReport, names_rails_without_a_wire_of_the_list) {
  Config config = on_loopback();
  config.wires = {"verbs"};
  const auto json = host_json(survey_host(config));
  if (json["rails"][0]["wires"][1]["usable"]) GTEST_SKIP() << "this host has RDMA on its loopback";
  EXPECT_EQ("no rail has a wire of RAILWEAVE_WIRES=verbs; add tcp", json["error"]);
  EXPECT_EQ("carries nothing: no wire of RAILWEAVE_WIRES=verbs works here; add tcp", json["rails"][0]["verdict"]);
}

TEST(HostReport, has_settings_and_a_verdict_for_each_rail) {
  const HostReport report = survey_host(on_loopback());
  const auto json = host_json(report);
  ASSERT_EQ(1u, json["rails"].size());
  const auto& lo = json["rails"][0];
  EXPECT_EQ("good", lo["verdict"]);
  EXPECT_TRUE(lo["default_routes"].empty());
  for (const char* setting : {"arp_ignore", "arp_announce", "rp_filter"}) EXPECT_TRUE(lo.contains(setting)) << setting;
  EXPECT_TRUE(json.contains("tcp_mtu_probing"));
  EXPECT_NE(std::string::npos, host_text(report).find("\nVerdicts\n  lo: good\n")) << host_text(report);
}

TEST(HostReport, names_the_wires_of_each_rail) {
  const HostReport report = survey_host(on_loopback());
  const auto json = host_json(report)["rails"][0]["wires"];
  ASSERT_FALSE(json.empty());
  EXPECT_EQ("tcp", json[0]["name"]);
  EXPECT_EQ(true, json[0]["usable"]);
  EXPECT_TRUE(json[0]["why_not"].is_null());
  for (const auto& wire : json) EXPECT_NE(wire["usable"].get<bool>(), wire["why_not"].is_string()) << wire;
  EXPECT_NE(std::string::npos, host_text(report).find("lo    tcp ")) << host_text(report);
}

TEST(HostReport, leaves_the_jobs_ports_alone) {
  Config config = on_loopback();
  const std::vector<Rail> rails = survey_host(config).survey.found.taken;
  ASSERT_EQ(1u, rails.size());
  const auto listening = wire::listen_at(rails[0].addresses.at(0), {}, {});
  ASSERT_TRUE(listening.ok()) << listening.status().message();
  const std::uint16_t port = listening.value().address.port();
  config.ports = {port, port};
  EXPECT_FALSE(Engine::start(config).ok()) << "another engine has the only port";
  EXPECT_TRUE(error_of(config).is_null());
}

}  // namespace
}  // namespace railweave::info
