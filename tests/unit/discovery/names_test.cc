// The rails that NCCL_SOCKET_IFNAME and RAILWEAVE_RAILS choose.
#include "discovery/name_list.h"
#include "expect_rails.h"

namespace railweave::discovery {
namespace {

class Names : public testing::Test {
 protected:
  Names() {
    host_.loopback();
    add("eth0", "10.0.0.1/24");
    add("eth1", "10.0.1.1/24");
    add("eth10", "10.0.10.1/24");
    add("ib0", "10.1.0.1/24");
    add("l", "10.2.0.1/24");
  }
  void add(const std::string& name, const std::string& address) {
    host_.link(name, "veth");
    host_.address(name, address);
  }
  FakeHost host_;
};

TEST_F(Names, prefixes_choose) {
  EXPECT_EQ("eth0 eth1 eth10", rails_listed(host_, "eth"));
  EXPECT_EQ("eth1 eth10", rails_listed(host_, "eth1"));
  EXPECT_EQ("eth0 eth1 eth10 ib0", rails_listed(host_, "ib,eth"));
  EXPECT_EQ("eth0 ib0", rails_listed(host_, " eth0 , ib0:1, "));
  EXPECT_EQ("l", rails_listed(host_, "l"));  // NCCL would ignore a name of one letter
}

TEST_F(Names, equals_asks_for_whole_names) {
  EXPECT_EQ("eth1", rails_listed(host_, "=eth1"));
  EXPECT_EQ("eth0 eth1", rails_listed(host_, "=eth1,eth0"));
  EXPECT_EQ("eth0 eth1", rails_listed(host_, "=eth1,=eth0"));
}

TEST_F(Names, hat_excludes_and_leaves_the_rest_to_the_rules) {
  EXPECT_EQ("ib0 l", rails_listed(host_, "^eth"));
  EXPECT_EQ("eth0 eth10 ib0 l", rails_listed(host_, "^=eth1"));
  EXPECT_EQ("ib0", rails_listed(host_, "^eth,^l"));
  Config config;
  config.interfaces = "^eth";
  EXPECT_EQ("excluded by NCCL_SOCKET_IFNAME", reason(host_, "eth0", config));
  EXPECT_EQ("loopback: only when named", reason(host_, "lo", config));
}

TEST_F(Names, a_list_without_a_match_names_what_there_is) {
  EXPECT_EQ("error: NCCL_SOCKET_IFNAME=bond,ens matches no interface; there are: lo, eth0, eth1, eth10, ib0, l",
            rails_listed(host_, "bond,ens"));
  expect_contains(rails_listed(host_, "^e,i,l"), "error: no usable network interface");
}

TEST_F(Names, ill_formed_lists_are_refused) {
  for (const char* text : {"^", "=", ",", "^=", " ", "eth0,^eth1", "eth0,=eth1"}) {
    expect_contains(rails_listed(host_, text), "error: NCCL_SOCKET_IFNAME=" + std::string(text) + ":");
  }
}

TEST_F(Names, loopback_only_when_spelled_out) {
  EXPECT_EQ("lo", rails_listed(host_, "lo"));
  EXPECT_EQ("lo", rails_listed(host_, "=lo"));
  EXPECT_EQ("lo", rails_named(host_, {"lo"}));
  Config config;
  config.rails = {"lo"};
  const Rail lo = rail(host_, "lo", config);
  EXPECT_TRUE(lo.loopback && !lo.by_routes);
  ASSERT_EQ(2u, lo.addresses.size());
  EXPECT_EQ(address_of("127.0.0.1/8"), lo.addresses[0]);
  config = {};
  config.interfaces = "l";
  EXPECT_EQ("loopback, taken only when NCCL_SOCKET_IFNAME spells its name out", reason(host_, "lo", config));
}

// BGP unnumbered: routes by every NIC lead to an address of the loopback interface.
TEST_F(Names, loopback_with_a_routable_address_goes_by_routes) {
  host_.address("lo", "2001:db8::9/128");
  host_.address("lo", "10.9.0.1/32");
  EXPECT_EQ("loopback with a routable address: only when named", reason(host_, "lo"));
  Config config;
  config.rails = {"lo"};
  const Rail lo = rail(host_, "lo", config);
  EXPECT_EQ((std::vector<Address>{address_of("10.9.0.1/32"), address_of("2001:db8::9/128")}), lo.addresses);
  EXPECT_TRUE(lo.by_routes);
  EXPECT_FALSE(lo.loopback);
  EXPECT_EQ(8, lo.lanes_min);
}

TEST_F(Names, a_dummy_with_a_routable_address_goes_by_routes) {
  host_.link("vip0", "dummy");
  host_.address("vip0", "fe80::1/64");
  Config config;
  config.rails = {"vip0"};
  expect_contains(reason(host_, "vip0", config), "unusable: no address");
  host_.address("vip0", "10.9.0.1/32");
  EXPECT_EQ("dummy interface with a routable address: only when named", reason(host_, "vip0"));
  const Rail vip = rail(host_, "vip0", config);
  EXPECT_EQ(std::vector<Address>{address_of("10.9.0.1/32")}, vip.addresses);
  EXPECT_TRUE(vip.by_routes);
}

TEST_F(Names, rails_are_exact_and_in_order) {
  EXPECT_EQ("ib0 eth1", rails_named(host_, {"ib0", "eth1"}));
  EXPECT_EQ("error: RAILWEAVE_RAILS: no interface is called \"eth\"; there are: lo, eth0, eth1, eth10, ib0, l",
            rails_named(host_, {"eth0", "eth"}));
  EXPECT_EQ("error: RAILWEAVE_RAILS names eth0 twice", rails_named(host_, {"eth0", "eth0"}));
  Config both;
  both.rails = {"ib0"};
  both.interfaces = "eth";
  EXPECT_EQ("ib0", rails_of(host_, both));
}

TEST_F(Names, a_named_rail_that_is_down_is_left_with_its_reason) {
  host_.find("eth1").up = false;
  Config config;
  config.rails = {"eth0", "eth1"};
  EXPECT_EQ("eth0", rails_of(host_, config));
  EXPECT_EQ("named in RAILWEAVE_RAILS, but unusable: down", reason(host_, "eth1", config));
  expect_contains(rails_named(host_, {"eth1"}), "eth1: named in RAILWEAVE_RAILS, but unusable: down");
}

TEST_F(Names, what_exists_is_shown_even_when_the_names_are_wrong) {
  Config config;
  config.rails = {"nope"};
  const Survey survey = survey_rails(config, host_);
  EXPECT_FALSE(survey.status.ok());
  EXPECT_EQ(6u, survey.found.considered.size());
}

TEST(NameList, a_host_with_hundreds_of_interfaces_gets_a_bounded_message) {
  FakeHost host;
  for (int i = 0; i < 120; ++i) host.link("veth" + std::to_string(i), "veth");
  expect_contains(rails_named(host, {"eth0"}), "more");
  expect_contains(rails_of(host), "more");
}

}  // namespace
}  // namespace railweave::discovery
