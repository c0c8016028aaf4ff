// Host settings and rail hazards: the verdicts on the rails of fake hosts.
#include "discovery/rail_hazards.h"

#include <gtest/gtest.h>

#include "fake_host.h"

namespace railweave::discovery {
namespace {

InterfaceSettings settings_of(std::int64_t arp_ignore, std::int64_t rp_filter) { return {arp_ignore, 0, rp_filter}; }

Rail rail_of(const std::string& name, std::vector<std::string> addresses) {
  Rail rail;
  rail.name = name;
  for (const std::string& text : addresses) rail.addresses.push_back(address_of(text));
  return rail;
}

const std::vector<Rail> kOneSubnet{rail_of("eth0", {"10.0.0.1/24"}), rail_of("eth1", {"10.0.0.2/24"})};
const std::vector<Rail> kSubnetEach{rail_of("eth0", {"10.0.0.1/24"}), rail_of("eth1", {"10.0.1.1/24"})};

// Returns the verdicts on rails that all have `settings`. `ways_back` and `ways_out`: RailFacts::way_back and way_out
// of each rail. `way_back_beyond`: of all rails.
std::vector<std::string> verdicts(const std::vector<Rail>& rails, const InterfaceSettings& settings,
                                  std::vector<std::string> ways_back, std::vector<std::string> ways_out = {},
                                  const std::string& way_back_beyond = "") {
  std::vector<RailFacts> facts;
  for (std::size_t i = 0; i < rails.size(); ++i)
    facts.push_back({settings, ways_back[i], ways_out.empty() ? "" : ways_out[i], way_back_beyond});
  std::vector<std::string> texts;
  for (const RailHazards& hazards : find_hazards(rails, facts)) texts.push_back(verdict(rails, hazards));
  return texts;
}

const std::string kArp = std::string("; mend: ") + kMendArp;
const std::vector<std::string> kBothGood{"good", "good"};

TEST(HostSettings, are_the_greater_of_all_and_the_interfaces_own) {
  FakeHost host;
  host.setting("conf/all/arp_ignore", "0");
  host.setting("conf/eth0/arp_ignore", "1");
  host.setting("conf/all/rp_filter", "2");
  host.setting("conf/eth0/rp_filter", "1");
  host.setting("conf/eth0/arp_announce", "2");
  const InterfaceSettings settings = interface_settings(host, "eth0");
  EXPECT_EQ(1, settings.arp_ignore);
  EXPECT_EQ(2, settings.rp_filter);
  EXPECT_EQ(2, settings.arp_announce);
  EXPECT_FALSE(settings.is_strict());
  EXPECT_EQ(0, interface_settings(host, "eth1").arp_ignore);
  EXPECT_FALSE(tcp_mtu_probing(host));
  host.setting("tcp_mtu_probing", "1");
  EXPECT_EQ(1, tcp_mtu_probing(host));
}

TEST(HostSettings, that_are_nonsense_or_hidden_are_not_known) {
  FakeHost host;
  host.setting("conf/all/arp_ignore", "much");
  const InterfaceSettings settings = interface_settings(host, "eth0");
  EXPECT_FALSE(settings.arp_ignore || settings.arp_announce || settings.rp_filter);
  EXPECT_FALSE(settings.answers_for_others());
  host.setting("conf/all/arp_ignore", "0");
  EXPECT_FALSE(interface_settings(host, "..").arp_ignore);
  EXPECT_FALSE(interface_settings(host, "../all").arp_ignore);
}

TEST(HostSettings, answer_for_others_as_the_kernel_does) {
  for (const std::int64_t value : {0, 3, 4, 7}) EXPECT_TRUE(settings_of(value, 0).answers_for_others()) << value;
  for (const std::int64_t value : {1, 2, 8}) EXPECT_FALSE(settings_of(value, 0).answers_for_others()) << value;
}

TEST(RailHazards, default_arp_in_one_subnet_answers_for_the_other_rail) {
  const std::vector<std::string> expected{
      "answers ARP for the addresses of eth1, so peers may send that traffic here" + kArp,
      "answers ARP for the addresses of eth0, so peers may send that traffic here" + kArp};
  EXPECT_EQ(expected, verdicts(kOneSubnet, settings_of(0, 0), {"eth0", "eth0"}));
  EXPECT_EQ(expected, verdicts(kOneSubnet, settings_of(0, 2), {"eth0", "eth0"}));
}

TEST(RailHazards, strict_arp_is_good) {
  EXPECT_EQ(kBothGood, verdicts(kOneSubnet, settings_of(1, 0), {"eth0", "eth0"}));
  EXPECT_EQ(kBothGood, verdicts(kSubnetEach, settings_of(1, 0), {"eth0", "eth1"}));
}

TEST(RailHazards, default_arp_in_two_subnets_matters_where_a_switch_joins_them) {
  EXPECT_EQ("good; where a switch joins it with eth1, it answers ARP for the addresses of eth1" + kArp,
            verdicts(kSubnetEach, settings_of(0, 0), {"eth0", "eth1"})[0]);
  EXPECT_EQ(kBothGood, verdicts(kSubnetEach, settings_of(0, 1), {"eth0", "eth1"})) << "rp_filter=1 drops the requests";
}

TEST(RailHazards, strict_reverse_path_in_one_subnet_makes_one_rail_drop) {
  const auto texts = verdicts(kOneSubnet, settings_of(0, 1), {"eth0", "eth0"});
  EXPECT_EQ("answers ARP for the addresses of eth1, so peers may send that traffic here" + kArp, texts[0]);
  EXPECT_EQ("drops what comes from its own subnet, because rp_filter is 1 and the route back leads by eth0; mend: " +
                std::string(kMendReversePath),
            texts[1]);
  EXPECT_EQ(kBothGood, verdicts(kOneSubnet, settings_of(0, 1), {"eth0", "eth1"})) << "policy routing";
  EXPECT_EQ(kBothGood, verdicts(kOneSubnet, settings_of(0, 1), {"", ""})) << "nothing is said that is not known";
}

TEST(RailHazards, the_default_route_on_another_rail_is_named) {
  const auto texts = verdicts(kSubnetEach, settings_of(1, 0), {"eth0", "eth1"}, {"", "eth0"});
  EXPECT_EQ("good", texts[0]);
  EXPECT_EQ(
      "good for its own subnet only, for the route beyond leads by eth0; mend: policy routing "
      "(docs/operate/deployment.md)",
      texts[1]);
}

TEST(RailHazards, strict_reverse_path_drops_what_comes_from_beyond_the_subnet) {
  const auto texts = verdicts(kSubnetEach, settings_of(1, 1), {"eth0", "eth1"}, {"", ""}, "eth0");
  EXPECT_EQ("good", texts[0]);
  EXPECT_EQ(
      "good for its own subnet, drops what comes from beyond it, because rp_filter is 1 and the route back there leads "
      "by eth0; mend: " +
          std::string(kMendReversePath),
      texts[1]);
  EXPECT_EQ(kBothGood, verdicts(kSubnetEach, settings_of(1, 2), {"eth0", "eth1"}, {"", ""}, "eth0"));
}

TEST(RailHazards, three_rails_are_named_and_subnets_within_one_another_are_one) {
  const std::vector<Rail> rails{rail_of("a", {"10.0.0.1/16"}), rail_of("b", {"fd00::1/64", "10.0.3.1/24"}),
                                rail_of("c", {"10.0.4.1/24"}), rail_of("d", {"192.168.1.1/24"})};
  const auto texts = verdicts(rails, settings_of(0, 0), {"a", "b", "c", "d"});
  EXPECT_EQ(
      "answers ARP for the addresses of b and c, so peers may send that traffic here; where a switch joins it with d, "
      "it answers ARP for the addresses of d" +
          kArp,
      texts[0]);
  EXPECT_EQ("good; where a switch joins it with a, b and c, it answers ARP for the addresses of a, b and c" + kArp,
            texts[3]);
}

TEST(RailHazards, ipv6_and_loopback_have_none) {
  std::vector<Rail> rails{rail_of("eth0", {"fd00::1/64"}), rail_of("eth1", {"fd00::2/64"})};
  EXPECT_EQ(kBothGood, verdicts(rails, settings_of(0, 1), {"", ""}));
  rails = {rail_of("eth0", {"10.0.0.1/24"}), rail_of("lo", {"127.0.0.1/8"})};
  rails[1].loopback = true;
  EXPECT_EQ(kBothGood, verdicts(rails, settings_of(0, 0), {"eth0", ""}));
}

}  // namespace
}  // namespace railweave::discovery
