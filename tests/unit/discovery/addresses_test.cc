#include "discovery/address_choice.h"

#include "base/address_text.h"
#include "expect_rails.h"

namespace railweave::discovery {
namespace {

class Addresses : public testing::Test {
 protected:
  Addresses() { host_.link("eth0", "veth"); }
  std::string chosen(AddressFamily family = AddressFamily::any) const {
    Config config;
    config.family = family;
    const Survey survey = survey_rails(config, host_);
    if (survey.found.taken.empty()) return "none: " + survey.found.considered[0].reason;
    std::string text;
    for (const Address& address : survey.found.taken[0].addresses)
      text += (text.empty() ? "" : " ") + to_string(without_scope(address));
    return text;
  }
  FakeHost host_;
};

TEST_F(Addresses, are_ordered_v4_global_unique_local) {
  host_.address("eth0", "fe80::1/64");
  host_.address("eth0", "fd00::1/64");
  host_.address("eth0", "2001:db8::1/64");
  host_.address("eth0", "192.0.2.1/24");
  host_.address("eth0", "192.0.2.2/24");
  EXPECT_EQ("192.0.2.1 192.0.2.2 2001:db8::1 fd00::1", chosen());
  EXPECT_EQ("192.0.2.1 192.0.2.2", chosen(AddressFamily::v4));
  EXPECT_EQ("2001:db8::1 fd00::1", chosen(AddressFamily::v6));
}

TEST_F(Addresses, tentative_duplicate_and_deprecated_ones_are_skipped) {
  host_.address("eth0", "2001:db8::1/64").tentative = true;
  host_.address("eth0", "2001:db8::2/64").deprecated = true;
  host_.address("eth0", "2001:db8::3/64").failed = true;
  host_.address("eth0", "2001:db8::4/64");
  EXPECT_EQ("2001:db8::4", chosen());
}

TEST_F(Addresses, temporary_ones_stand_behind_stable_ones) {
  host_.address("eth0", "2001:db8::99/64").temporary = true;
  EXPECT_EQ("2001:db8::99", chosen());
  host_.address("eth0", "2001:db8::1/64");
  EXPECT_EQ("2001:db8::1", chosen());
}

TEST_F(Addresses, link_local_ones_only_when_there_is_nothing_else) {
  host_.address("eth0", "fe80::1/64");
  host_.address("eth0", "169.254.0.1/16");
  EXPECT_EQ("169.254.0.1 fe80::1", chosen());
  const Rail eth0 = rail(host_, "eth0");
  EXPECT_EQ(0u, eth0.addresses[0].scope_id);
  EXPECT_EQ(1u, eth0.addresses[1].scope_id);
  EXPECT_EQ("only link-local addresses, but there is nothing better", reason(host_, "eth0"));
  host_.link("tun0", "tun");
  host_.address("tun0", "10.0.0.1/32");
  EXPECT_EQ("only link-local addresses, and there is better: tun0", reason(host_, "eth0"));
}

// An IPv6 link-local address distinguishes rails on one switch: only the interface that has the address answers for it.
TEST_F(Addresses, an_ipv6_link_local_one_comes_last_without_other_ipv6) {
  host_.address("eth0", "fe80::1/64");
  host_.address("eth0", "fe80::2/64");
  host_.address("eth0", "10.0.0.1/24");
  EXPECT_EQ("10.0.0.1 fe80::1", chosen());
  EXPECT_EQ(1u, rail(host_, "eth0").addresses[1].scope_id);
  host_.address("eth0", "2001:db8::1/64");
  EXPECT_EQ("10.0.0.1 2001:db8::1", chosen());
}

TEST_F(Addresses, useless_ones_are_no_addresses) {
  for (const char* text : {"0.0.0.0/0", "224.0.0.1/4", "255.255.255.255/32", "127.0.0.2/8", "::/0", "::1/128",
                           "ff02::1/64", "::ffff:192.0.2.1/96"}) {
    host_.address("eth0", text);
  }
  EXPECT_EQ("none: no address but deprecated, duplicate or unwanted ones", chosen());
}

TEST_F(Addresses, are_bounded) {
  for (int i = 1; i < 100; ++i) host_.address("eth0", "10.0.0." + std::to_string(i) + "/24");
  EXPECT_EQ(kAddressesMax, rail(host_, "eth0").addresses.size());
}

TEST_F(Addresses, the_message_names_the_family) {
  host_.address("eth0", "10.0.0.1/24");
  Config config;
  config.family = AddressFamily::v6;
  expect_contains(rails_of(host_, config), "no usable network interface for IPv6: eth0: ");
}

}  // namespace
}  // namespace railweave::discovery
