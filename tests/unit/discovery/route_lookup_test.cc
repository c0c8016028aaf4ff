// find_route() in real network namespaces. Each test runs on a thread with its own namespace, and the commands that it
// starts share the namespace. The namespace ends with the thread and the commands.
#include "discovery/route_lookup.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <functional>
#include <string>
#include <thread>

#include "base/address_text.h"
#include "fake_host.h"

namespace railweave::discovery {
namespace {

using Kind = RouteAnswer::Kind;

bool shell(const std::string& commands) { return ::system(("{ " + commands + "; } >/dev/null 2>&1").c_str()) == 0; }

// Two rails, `eth0` (10.0.0.1/24) and `eth1` (10.0.1.1/24). Each is a veth whose other end is `port0` or `port1`.
constexpr char kTwoRails[] =
    "set -e; ip link set lo up; for i in 0 1; do ip link add eth$i type veth peer name port$i; "
    "ip link set eth$i up; ip link set port$i up; ip addr add 10.0.$i.1/24 dev eth$i; done";
constexpr char kIpv6[] =
    "set -e; for i in 0 1; do echo 0 >/proc/sys/net/ipv6/conf/eth$i/disable_ipv6; "
    "ip addr add fd00:$i::1/64 dev eth$i nodad; ip addr add fe80::1$i/64 dev eth$i nodad; done";

class RouteLookup : public testing::Test {
 protected:
  // Runs `test` in a namespace with two rails. Skips the test without the privilege for namespaces, or without ip(8).
  void in_namespace(const std::function<void()>& test) {
    bool made = false;
    std::thread([&] {
      made = ::unshare(CLONE_NEWNET) == 0 && shell("ip -V") && shell(kTwoRails);
      if (made) test();
    }).join();
    if (!made) GTEST_SKIP() << "no network namespaces here";
  }

  static RouteQuery query(const std::string& destination, const std::string& source, const std::string& interface) {
    return {address_of(destination + "/32"), address_of(source + "/24"),
            interface.empty() ? 0 : int(if_nametoindex(interface.c_str()))};
  }
  static Kind kind(const std::string& destination, const std::string& source, const std::string& interface) {
    return find_route(query(destination, source, interface)).kind;
  }
  static std::string why(const std::string& destination, const std::string& source, const std::string& interface) {
    const RouteQuery asked = query(destination, source, interface);
    return why_no_route(asked, interface, find_route(asked));
  }
};

TEST_F(RouteLookup, a_neighbour_is_reached_by_the_rail_of_its_subnet_alone) {
  in_namespace([] {
    const RouteAnswer answer = find_route(query("10.0.0.2", "10.0.0.1", "eth0"));
    EXPECT_EQ(Kind::reachable, answer.kind);
    EXPECT_EQ("eth0", answer.interface);
    EXPECT_FALSE(answer.gateway);
    EXPECT_EQ("", why("10.0.0.2", "10.0.0.1", "eth0"));
    // The kernel itself would treat the address as a neighbour for a socket that is bound to eth1.
    EXPECT_EQ(Kind::elsewhere, kind("10.0.0.2", "10.0.1.1", "eth1"));
    EXPECT_EQ("no route to 10.0.0.2 by eth1 from 10.0.1.1: the route leads by eth0",
              why("10.0.0.2", "10.0.1.1", "eth1"));
    EXPECT_EQ("eth0", find_route(query("10.0.0.2", "10.0.1.1", "")).interface) << "by whichever interface";
  });
}

TEST_F(RouteLookup, a_gateway_for_each_rail) {
  in_namespace([] {
    EXPECT_EQ("no route to 10.9.0.2 by eth0 from 10.0.0.1: the routing tables have none",
              why("10.9.0.2", "10.0.0.1", "eth0"));
    ASSERT_TRUE(shell("ip route add 10.9.0.0/16 via 10.0.0.254 && ip route add 10.9.0.0/16 via 10.0.1.254 metric 5"));
    for (const std::string rail : {"0", "1"}) {
      const RouteAnswer answer = find_route(query("10.9.0.2", "10.0." + rail + ".1", "eth" + rail));
      EXPECT_EQ(Kind::reachable, answer.kind);
      ASSERT_TRUE(answer.gateway);
      EXPECT_EQ("10.0." + rail + ".254", to_string(*answer.gateway));
    }
  });
}

TEST_F(RouteLookup, a_default_route_on_the_other_rail_only) {
  in_namespace([] {
    ASSERT_TRUE(shell("ip route add default via 10.0.0.254"));
    EXPECT_EQ(Kind::reachable, kind("10.9.0.2", "10.0.0.1", "eth0"));
    EXPECT_EQ("no route to 10.9.0.2 by eth1 from 10.0.1.1: the route leads by eth0",
              why("10.9.0.2", "10.0.1.1", "eth1"));
  });
}

TEST_F(RouteLookup, policy_routing_goes_by_the_source) {
  in_namespace([] {
    ASSERT_TRUE(
        shell("ip rule add from 10.0.1.1 lookup 101 && ip route add default via 10.0.1.254 dev eth1 table 101"));
    EXPECT_EQ(Kind::reachable, kind("10.9.0.2", "10.0.1.1", "eth1"));
    EXPECT_EQ(Kind::none, kind("10.9.0.2", "10.0.0.1", "eth0"));
    EXPECT_EQ(Kind::none, kind("10.9.0.2", "10.0.0.1", "eth1"));
  });
}

TEST_F(RouteLookup, several_next_hops_are_a_route_by_each) {
  in_namespace([] {
    ASSERT_TRUE(shell("ip route add default nexthop via 10.0.0.254 dev eth0 nexthop via 10.0.1.254 dev eth1"));
    for (const std::string rail : {"0", "1"}) {
      const RouteAnswer answer = find_route(query("10.9.0.2", "10.0." + rail + ".1", "eth" + rail));
      EXPECT_EQ(Kind::reachable, answer.kind);
      ASSERT_TRUE(answer.gateway);
      EXPECT_EQ("10.0." + rail + ".254", to_string(*answer.gateway));
    }
  });
}

TEST_F(RouteLookup, what_goes_away_is_none) {
  in_namespace([] {
    ASSERT_TRUE(shell("ip link set port0 down"));
    const auto by_eth0 = [] { return why("10.0.0.2", "10.0.0.1", "eth0"); };
    for (int i = 0; i < 500 && by_eth0().empty(); ++i) shell("sleep 0.01");  // the kernel notices it a little later
    EXPECT_EQ("no route to 10.0.0.2 by eth0 from 10.0.0.1: the link is down", by_eth0());
    ASSERT_TRUE(shell("ip link set port0 up"));
    for (int i = 0; i < 500 && !by_eth0().empty(); ++i) shell("sleep 0.01");
    EXPECT_EQ("", by_eth0());
    ASSERT_TRUE(shell("ip route flush dev eth0"));
    EXPECT_EQ("no route to 10.0.0.2 by eth0 from 10.0.0.1: the routing tables have none", by_eth0());
    ASSERT_TRUE(shell("ip addr del 10.0.0.1/24 dev eth0"));
    EXPECT_EQ(Kind::none, kind("10.0.0.2", "10.0.0.1", "eth0"));
  });
}

TEST_F(RouteLookup, routes_that_forbid_are_none_and_own_addresses_are_reachable) {
  in_namespace([] {
    ASSERT_TRUE(shell(
        "ip route add unreachable 10.5.0.0/24; ip route add blackhole 10.6.0.0/24; ip route add prohibit 10.7.0.0/24"));
    for (const char* destination : {"10.5.0.2", "10.6.0.2", "10.7.0.2"})
      EXPECT_EQ(Kind::none, kind(destination, "10.0.1.1", "eth1"));
    EXPECT_EQ(Kind::reachable, kind("10.0.1.1", "10.0.1.1", "eth1"));
    EXPECT_EQ(Kind::reachable, kind("10.0.0.1", "10.0.1.1", "eth1")) << "sockets are not bound to an interface then";
    EXPECT_EQ(Kind::reachable, kind("127.0.0.1", "127.0.0.1", "lo"));
  });
}

TEST_F(RouteLookup, ipv6) {
  in_namespace([] {
    if (!shell(kIpv6)) GTEST_SKIP() << "no IPv6 here";
    EXPECT_EQ(Kind::reachable, kind("fd00:0::2", "fd00:0::1", "eth0"));
    EXPECT_EQ("no route to fd00::2 by eth1 from fd00:1::1: the route leads by eth0",
              why("fd00:0::2", "fd00:1::1", "eth1"));
    EXPECT_EQ("no route to fd00:9::2 by eth1 from fd00:1::1: the routing tables have none",
              why("fd00:9::2", "fd00:1::1", "eth1"));
    ASSERT_TRUE(shell("ip route add default via fd00:0::fe"));
    EXPECT_EQ(Kind::elsewhere, kind("fd00:9::2", "fd00:1::1", "eth1"));
    ASSERT_TRUE(
        shell("ip -6 rule add from fd00:1::1 lookup 101 && ip route add default via fd00:1::fe dev eth1 table 101"));
    EXPECT_EQ(Kind::reachable, kind("fd00:9::2", "fd00:1::1", "eth1"));
    EXPECT_EQ("fd00:1::fe", to_string(find_route(query("fd00:9::2", "fd00:1::1", "eth1")).gateway.value()));
    ASSERT_TRUE(
        shell("ip -6 rule del from fd00:1::1 lookup 101; ip route add default via fd00:1::fe dev eth1 metric 5000"));
    EXPECT_EQ(Kind::reachable, kind("fd00:9::2", "fd00:1::1", "eth1"))
        << "a socket that is bound to eth1 goes by its routes alone";
  });
}

TEST_F(RouteLookup, a_link_local_neighbour_is_on_the_interface_that_is_asked_for) {
  in_namespace([] {
    if (!shell(kIpv6)) GTEST_SKIP() << "no IPv6 here";
    EXPECT_EQ(Kind::reachable, kind("fe80::77", "fe80::10", "eth0"));
    EXPECT_EQ(Kind::reachable, kind("fe80::77", "fe80::11", "eth1"));
    ASSERT_TRUE(shell("ip -6 route flush fe80::/64 dev eth1"));
    EXPECT_NE(Kind::reachable, kind("fe80::77", "fe80::11", "eth1"));
  });
}

TEST(RouteLookupAnswer, why_no_route__is_empty_while_the_route_is_unknown) {
  RouteAnswer answer;
  answer.cause = "no netlink";
  EXPECT_EQ("", why_no_route({}, "eth0", answer));
}

}  // namespace
}  // namespace railweave::discovery
