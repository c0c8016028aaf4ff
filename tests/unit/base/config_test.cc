#include "railweave/config.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/config_section.h"

namespace railweave {
namespace {

using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;
using Environment = std::map<std::string, std::string>;

Config parsed(const Environment& environment) {
  Result<Config> config = Config::parse(environment);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.ok() ? config.value() : Config();
}

std::string problem(const Environment& environment) {
  const Result<Config> config = Config::parse(environment);
  EXPECT_EQ(config.status().code(), Code::invalid_config);
  return config.status().message();
}

AssertionResult rejects(const std::string& name, const std::string& value) {
  const std::string message = problem({{name, value}});
  if (message.find(name + ": found '" + value + "', expected ") == 0) return AssertionSuccess();
  return AssertionFailure() << name << "='" << value << "' gave: " << message;
}

TEST(Config, an_empty_environment_gives_the_defaults) {
  const Config config = parsed({});
  EXPECT_EQ(config.wires, (std::vector<std::string>{"tcp"}));
  EXPECT_EQ(config.devices, DeviceModel::aggregate);
  EXPECT_EQ(config.eager_limit_bytes, 64 * KiB);
  EXPECT_EQ(config.connect_timeout, std::chrono::seconds(20));
  EXPECT_EQ(config.peer_timeout, std::chrono::seconds(10));
  EXPECT_EQ(config.stall_timeout, std::chrono::seconds(60));
  EXPECT_TRUE(config.overrides().empty());
}

TEST(Config, every_variable_is_read) {
  const Config config = parsed({{"NCCL_SOCKET_IFNAME", "^docker,lo"},
                                {"NCCL_SOCKET_FAMILY", "AF_INET6"},
                                {"NCCL_NET_OPTIONAL_RECV_COMPLETION", "0"},
                                {"RAILWEAVE_RAILS", "eth1,eth0"},
                                {"RAILWEAVE_NETWORK_STATUS_FILE", "/etc/pod/networks"},
                                {"RAILWEAVE_WIRES", "verbs,tcp"},
                                {"RAILWEAVE_OFI_LIBRARY", "/opt/lib/libfabric.so"},
                                {"RAILWEAVE_DEVICES", "rails"},
                                {"RAILWEAVE_PORTS", "20000-20099"},
                                {"RAILWEAVE_LANES_PER_RAIL", "16"},
                                {"RAILWEAVE_EAGER_LIMIT", "8KiB"},
                                {"RAILWEAVE_ZEROCOPY_THRESHOLD", "131072"},
                                {"RAILWEAVE_TCP_CONGESTION", "cubic"},
                                {"RAILWEAVE_TRAFFIC_CLASS", "0x68"},
                                {"RAILWEAVE_CONNECT_TIMEOUT", "2.5"},
                                {"RAILWEAVE_PEER_TIMEOUT", "3.5"},
                                {"RAILWEAVE_STALL_TIMEOUT", "0"},
                                {"RAILWEAVE_SHM", "on"},
                                {"RAILWEAVE_KEY_FILE", "/etc/railweave.key"},
                                {"RAILWEAVE_ENCRYPT", "1"},
                                {"RAILWEAVE_STATS_DIR", "/run/railweave"}});
  EXPECT_EQ(config.interfaces, "^docker,lo");
  EXPECT_EQ(config.family, AddressFamily::v6);
  EXPECT_FALSE(config.optional_completion);
  EXPECT_EQ(config.rails, (std::vector<std::string>{"eth1", "eth0"}));
  EXPECT_EQ(config.network_status_file, "/etc/pod/networks");
  EXPECT_EQ(config.wires, (std::vector<std::string>{"verbs", "tcp"}));
  EXPECT_EQ(config.ofi_library, "/opt/lib/libfabric.so");
  EXPECT_EQ(config.devices, DeviceModel::rails);
  EXPECT_EQ(config.ports.first, 20000);
  EXPECT_EQ(config.ports.last, 20099);
  EXPECT_EQ(config.lanes_per_rail, 16);
  EXPECT_EQ(config.eager_limit_bytes, 8 * KiB);
  EXPECT_EQ(config.zerocopy_threshold_bytes, 128 * KiB);
  EXPECT_EQ(config.congestion_control, "cubic");
  EXPECT_EQ(config.traffic_class, 0x68);
  EXPECT_EQ(config.connect_timeout, std::chrono::milliseconds(2500));
  EXPECT_EQ(config.peer_timeout, std::chrono::milliseconds(3500));
  EXPECT_EQ(config.stall_timeout, Nanos(0));
  EXPECT_TRUE(config.shm.value_or(false));
  EXPECT_EQ(config.key_file, "/etc/railweave.key");
  EXPECT_TRUE(config.encrypt);
  EXPECT_EQ(config.stats_dir, "/run/railweave");
  EXPECT_EQ(config.overrides(), (std::vector<std::string>{"NCCL_SOCKET_IFNAME=^docker,lo",
                                                          "NCCL_SOCKET_FAMILY=AF_INET6",
                                                          "NCCL_NET_OPTIONAL_RECV_COMPLETION=0",
                                                          "RAILWEAVE_RAILS=eth1,eth0",
                                                          "RAILWEAVE_NETWORK_STATUS_FILE=/etc/pod/networks",
                                                          "RAILWEAVE_WIRES=verbs,tcp",
                                                          "RAILWEAVE_OFI_LIBRARY=/opt/lib/libfabric.so",
                                                          "RAILWEAVE_DEVICES=rails",
                                                          "RAILWEAVE_PORTS=20000-20099",
                                                          "RAILWEAVE_LANES_PER_RAIL=16",
                                                          "RAILWEAVE_EAGER_LIMIT=8KiB",
                                                          "RAILWEAVE_ZEROCOPY_THRESHOLD=128KiB",
                                                          "RAILWEAVE_TCP_CONGESTION=cubic",
                                                          "RAILWEAVE_TRAFFIC_CLASS=104",
                                                          "RAILWEAVE_CONNECT_TIMEOUT=2.5",
                                                          "RAILWEAVE_PEER_TIMEOUT=3.5",
                                                          "RAILWEAVE_STALL_TIMEOUT=0",
                                                          "RAILWEAVE_SHM=on",
                                                          "RAILWEAVE_KEY_FILE=/etc/railweave.key",
                                                          "RAILWEAVE_ENCRYPT=on",
                                                          "RAILWEAVE_STATS_DIR=/run/railweave"}));
}

TEST(Config, an_empty_stats_directory_is_an_override) {
  EXPECT_EQ(parsed({{"RAILWEAVE_STATS_DIR", ""}}).overrides(), std::vector<std::string>{"RAILWEAVE_STATS_DIR="});
}

TEST(Config, nccls_switch_is_read_as_nccl_does) {
  for (const char* value : {"0", "off", "false", "00", "0x0"})
    EXPECT_FALSE(parsed({{"NCCL_NET_OPTIONAL_RECV_COMPLETION", value}}).optional_completion) << value;
  for (const char* value : {"", "1", "-1", "0x10", "99999999999999999999"})
    EXPECT_TRUE(parsed({{"NCCL_NET_OPTIONAL_RECV_COMPLETION", value}}).optional_completion) << value;
}

TEST(Config, switches_are_written_in_two_ways) {
  for (const bool on : {true, false})
    for (const char* value : {on ? "1" : "0", on ? "on" : "off"}) {
      const Config config =
          parsed({{"RAILWEAVE_SHM", value}, {"RAILWEAVE_CHECKSUM", value}, {"RAILWEAVE_ENCRYPT", value}});
      EXPECT_EQ(std::optional(on), config.shm);
      EXPECT_EQ(on, config.checksum);
      EXPECT_EQ(on, config.encrypt);
    }
  EXPECT_FALSE(parsed({{"RAILWEAVE_SHM", ""}}).shm.has_value());
}

TEST(Config, ill_formed_values_are_rejected) {
  for (const char* value : {"", "x", "1.5", "-1", "17", "4 ", " 4", "0x", "99999999999999999999", "1e3"})
    EXPECT_TRUE(rejects("RAILWEAVE_LANES_PER_RAIL", value));
  for (const char* value :
       {"", "65KiB", "65537", "-1", "KiB", "K", "16k", "16 KiB", "16KKiB", "16KiBK", "4294967296", "1GiB"})
    EXPECT_TRUE(rejects("RAILWEAVE_EAGER_LIMIT", value));
  for (const char* value : {"", "0", "0.05", "3601", "nan", "inf", "-3", "20s", "1e3"})
    EXPECT_TRUE(rejects("RAILWEAVE_CONNECT_TIMEOUT", value));
  for (const char* value : {"", "0", "1.9", "3601", "nan"}) EXPECT_TRUE(rejects("RAILWEAVE_PEER_TIMEOUT", value));
  for (const char* value : {"1000", "0-10", "10-", "-10", "20-10", "1-65536", "a-b", "1-2-3", "1 - 2"})
    EXPECT_TRUE(rejects("RAILWEAVE_PORTS", value));
  for (const char* value : {",", "eth0,", ",eth0", "eth0,,eth1", "eth0,eth0", "eth 0", "a/b", "sixteen-letters-"})
    EXPECT_TRUE(rejects("RAILWEAVE_RAILS", value));
  for (const char* value : {"", "rdma", "shm", "TCP", "tcp,tcp", "tcp,", "verbs, tcp"})
    EXPECT_TRUE(rejects("RAILWEAVE_WIRES", value));
  EXPECT_TRUE(rejects("RAILWEAVE_OFI_LIBRARY", "libfabric.so"));
  for (const char* value : {"", "Rails", "one"}) EXPECT_TRUE(rejects("RAILWEAVE_DEVICES", value));
  for (const char* value : {"AF_INET4", "6", "af_inet"}) EXPECT_TRUE(rejects("NCCL_SOCKET_FAMILY", value));
  for (const char* value : {"256", "-2"}) EXPECT_TRUE(rejects("RAILWEAVE_TRAFFIC_CLASS", value));
  for (const char* name : {"RAILWEAVE_SHM", "RAILWEAVE_CHECKSUM", "RAILWEAVE_ENCRYPT"})
    for (const char* value : {"yes", "2", "On", "true", "1 "}) EXPECT_TRUE(rejects(name, value));
  for (const char* name : {"RAILWEAVE_CHECKSUM", "RAILWEAVE_ENCRYPT"}) EXPECT_TRUE(rejects(name, ""));
  for (const char* value : {"key", "~/key"}) EXPECT_TRUE(rejects("RAILWEAVE_KEY_FILE", value));
  EXPECT_NE(problem({{"RAILWEAVE_KEY_FILE", "/" + std::string(4095, 'k')}}).find("at most 4095 bytes"),
            std::string::npos);
  for (const char* value : {"tmp", "./tmp"}) EXPECT_TRUE(rejects("RAILWEAVE_STATS_DIR", value));
  EXPECT_NE(problem({{"RAILWEAVE_STATS_DIR", "/" + std::string(75, 'd')}}).find("at most 75 bytes"), std::string::npos);
  EXPECT_TRUE(rejects("RAILWEAVE_TCP_CONGESTION", "no such thing"));
}

TEST(Config, bounds_are_accepted) {
  EXPECT_EQ(parsed({{"RAILWEAVE_EAGER_LIMIT", "64KiB"}}).eager_limit_bytes, 64 * KiB);
  EXPECT_EQ(parsed({{"RAILWEAVE_EAGER_LIMIT", "16K"}}).eager_limit_bytes, 16 * KiB);
  EXPECT_EQ(parsed({{"RAILWEAVE_EAGER_LIMIT", "0"}}).eager_limit_bytes, 0u);
  EXPECT_EQ(parsed({{"RAILWEAVE_PORTS", "7-7"}}).ports.last, 7);
  EXPECT_EQ(parsed({{"RAILWEAVE_PORTS", "1-65535"}}).ports.last, 65535);
  EXPECT_EQ(parsed({{"RAILWEAVE_TRAFFIC_CLASS", "-1"}}).traffic_class, -1);
  EXPECT_EQ(parsed({{"RAILWEAVE_ZEROCOPY_THRESHOLD", "1GiB"}}).zerocopy_threshold_bytes, 1024 * MiB);
}

TEST(Config, the_error_names_what_was_found_and_what_was_expected) {
  EXPECT_EQ(problem({{"RAILWEAVE_LANES_PER_RAIL", "many"}}),
            "RAILWEAVE_LANES_PER_RAIL: found 'many', expected an integer from 0 to 16");
  EXPECT_EQ(problem({{"RAILWEAVE_EAGER_LIMIT", "1MiB"}}),
            "RAILWEAVE_EAGER_LIMIT: found '1MiB', expected a size in bytes, or with KiB, MiB or GiB, from 0 to 64KiB");
  EXPECT_EQ(problem({{"RAILWEAVE_CONNECT_TIMEOUT", "soon"}}),
            "RAILWEAVE_CONNECT_TIMEOUT: found 'soon', expected a number of seconds from 0.1 to 3600");
  EXPECT_EQ(problem({{"NCCL_SOCKET_FAMILY", "v6"}}), "NCCL_SOCKET_FAMILY: found 'v6', expected AF_INET or AF_INET6");
  EXPECT_LT(problem({{"RAILWEAVE_LANES_PER_RAIL", std::string(10000, '9')}}).size(), 300u);
}

TEST(Config, unknown_names_get_a_suggestion_or_the_list) {
  EXPECT_EQ(problem({{"RAILWEAVE_LANE_PER_RAIL", "2"}}),
            "RAILWEAVE_LANE_PER_RAIL: no such variable, did you mean RAILWEAVE_LANES_PER_RAIL?");
  const std::string far = problem({{"RAILWEAVE_QUUX", "2"}});
  EXPECT_EQ(far.find("RAILWEAVE_QUUX: no such variable; there are RAILWEAVE_RAILS, "), 0u) << far;
  for (const Setting* setting : config_settings()) {
    const bool ours = setting->name.starts_with("RAILWEAVE_");
    EXPECT_EQ(far.find(setting->name) != far.npos, ours) << setting->name;
  }
  for (const std::string_view other : variables_of_other_libraries()) EXPECT_NE(far.find(other), far.npos) << other;
  EXPECT_LT(problem({{"RAILWEAVE_" + std::string(10000, 'X'), ""}}).size(), 600u);
  EXPECT_FALSE(problem({{"RAILWEAVE_", ""}}).empty());
}

TEST(Config, every_problem_is_named_at_once) {
  const std::string message = problem({{"RAILWEAVE_PORTS", "9-8"}, {"RAILWEAVE_DEVICES", "none"}});
  EXPECT_NE(message.find("RAILWEAVE_PORTS: found '9-8'"), message.npos) << message;
  EXPECT_NE(message.find("RAILWEAVE_DEVICES: found 'none'"), message.npos) << message;
}

TEST(Config, variables_of_others_are_ignored) {
  EXPECT_TRUE(Config::parse({{"NCCL_DEBUG", "INFO"}, {"PATH", "/bin"}}).ok());
}

TEST(Config, from_environment__takes_only_our_names) {
  ::setenv("RAILWEAVE_LANES_PER_RAIL", "3", 1);
  ::setenv("NCCL_SOCKET_IFNAME", "=eth0", 1);
  ::setenv("NCCL_SOCKET_FAMILY", "", 1);
  const Result<Config> config = Config::from_environment();
  ::setenv("RAILWEAVE_NONSENSE", "=", 1);
  const Result<Config> unknown = Config::from_environment();
  for (const char* name :
       {"RAILWEAVE_LANES_PER_RAIL", "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY", "RAILWEAVE_NONSENSE"})
    ::unsetenv(name);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config.value().overrides(),
            (std::vector<std::string>{"NCCL_SOCKET_IFNAME==eth0", "RAILWEAVE_LANES_PER_RAIL=3"}));
  EXPECT_FALSE(unknown.ok());
}

TEST(ConfigSetting, values_read_back_as_they_are_written) {
  for (const Setting* one : config_settings()) {
    const Setting& setting = *one;
    Config config;
    const std::string value = value_text(setting, Config());
    EXPECT_TRUE(parse_setting(setting, value, config)) << setting.name << "=" << value;
    EXPECT_TRUE(config.overrides().empty()) << setting.name;
    if (setting.kind == ValueKind::text) continue;
    for (const std::int64_t bound : {setting.min, setting.max}) {
      setting.set_number(bound, config);
      Config read_back;
      EXPECT_TRUE(parse_setting(setting, value_text(setting, config), read_back)) << setting.name << " " << bound;
      EXPECT_EQ(setting.number_of(read_back), bound) << setting.name;
    }
  }
}

// A configuration section like that of a library.
struct Speeds {
  int speed = 3;
  std::string name = "slow";
};

bool parse_speed_name(std::string_view text, Config& config) {
  config.of<Speeds>().name = text;
  return text != "none";
}

constexpr Setting kSpeedSettings[] = {
    {.name = "RAILWEAVE_TEST_SPEED",
     .kind = ValueKind::integer,
     .help = "A number.",
     .min = 1,
     .max = 9,
     .set_number = [](std::int64_t n, Config& c) { c.of<Speeds>().speed = int(n); },
     .number_of = [](const Config& c) { return std::int64_t{c.of<Speeds>().speed}; }},
    {.name = "RAILWEAVE_TEST_NAME",
     .help = "A name.",
     .form = "a name",
     .parse_text = parse_speed_name,
     .text_of = [](const Config& c) { return c.of<Speeds>().name; }},
};
constexpr ConfigSection kSpeedSection{.title = "Speeds", .about = "Read by this test.", .settings = kSpeedSettings};

// Runs in a child process, because the other tests must not have this section. Exits with 0, or with the number of the
// failed check.
void use_a_section_of_its_own() {
  const Environment set = {{"RAILWEAVE_TEST_SPEED", "7"}};
  if (Config::parse(set).ok()) std::_Exit(1);  // not registered yet
  register_config_section(kSpeedSection);
  register_config_section(kSpeedSection);
  const Result<Config> config = Config::parse(set);
  if (!config.ok()) std::_Exit(2);
  const Config copy = config.value();
  if (copy.of<Speeds>().speed != 7 || copy.of<Speeds>().name != "slow" || Config().of<Speeds>().speed != 3)
    std::_Exit(3);
  if (copy.overrides() != std::vector<std::string>{"RAILWEAVE_TEST_SPEED=7"}) std::_Exit(4);
  if (config_sections().size() != 2 || config_sections()[0] != &engine_section()) std::_Exit(5);
  const Status wrong = Config::parse({{"RAILWEAVE_TEST_SPEED", "10"}, {"RAILWEAVE_TEST_NAME", "none"}}).status();
  const char* const said =
      "RAILWEAVE_TEST_NAME: found 'none', expected a name; RAILWEAVE_TEST_SPEED: found '10', expected an integer from "
      "1 to 9";
  std::_Exit(wrong.message() == said ? 0 : 6);
}

TEST(ConfigSection, a_librarys_own_is_parsed_checked_and_logged) {
  EXPECT_EXIT(use_a_section_of_its_own(), testing::ExitedWithCode(0), "");
}

TEST(ConfigSection, variables_of_libraries_that_are_not_there_are_ignored) {
  for (const std::string_view name : variables_of_other_libraries())
    EXPECT_TRUE(Config::parse({{std::string(name), "whatever"}}).ok()) << name;
}

}  // namespace
}  // namespace railweave
