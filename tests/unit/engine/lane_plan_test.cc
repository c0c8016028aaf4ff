#include "engine/reconcile/lane_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "engine/connect/dial.h"

namespace railweave::engine {
namespace {

Address v4(int a, int b, int c, int d, int bits = 24) {
  Address x;
  x.bytes[0] = std::uint8_t(a), x.bytes[1] = std::uint8_t(b), x.bytes[2] = std::uint8_t(c),
  x.bytes[3] = std::uint8_t(d);
  x.prefix_bits = std::uint8_t(bits);
  return x;
}

Address v6(int net, int host, int bits = 64) {
  Address x;
  x.family = Address::Family::v6;
  x.bytes[0] = 0xfd;
  x.bytes[7] = std::uint8_t(net);
  x.bytes[15] = std::uint8_t(host);
  x.prefix_bits = std::uint8_t(bits);
  return x;
}

Rail rail(std::vector<Address> addresses) {
  Rail r;
  r.addresses = std::move(addresses);
  return r;
}

Address link_local(int host) {
  Address x = v6(0, host);
  x.bytes[0] = 0xfe, x.bytes[1] = 0x80;
  return x;
}

PeerRail peer(const std::vector<Address>& addresses, std::uint16_t port = 7000) {
  PeerRail r;
  for (const Address& a : addresses) r.addresses.push_back({a, port});
  return r;
}

using PairList = std::vector<RailPair>;

PairList plan(const std::vector<Rail>& local, const std::vector<PeerRail>& remote) {
  return choose_pairs(candidate_pairs(local, remote), {}, int(local.size()), int(remote.size()));
}

// ------------------------------------------------------------------------------------------------------------ routes

TEST(LanePlan, best_route__link_local_addresses_are_the_last_resort) {
  Route route;
  ASSERT_TRUE(best_route(rail({v4(10, 0, 1, 1), link_local(1)}), peer({v4(10, 0, 2, 1), link_local(2)}), route));
  EXPECT_EQ(route.source, v4(10, 0, 1, 1)) << "though it is another subnet";
  EXPECT_FALSE(route.same_subnet);
  ASSERT_TRUE(best_route(rail({link_local(1)}), peer({v4(10, 0, 2, 1), link_local(2)}), route));
  EXPECT_EQ(route.target.address, link_local(2));
  EXPECT_FALSE(best_route(rail({v4(10, 0, 1, 1), link_local(1)}), peer({v6(1, 1)}), route))
      << "a link-local source reaches no other subnet";
}

TEST(LanePlan, best_route__an_avoided_family_is_the_last_resort) {
  Route route;
  ASSERT_TRUE(best_route(rail({v4(10, 0, 1, 1), link_local(1)}), peer({v4(10, 0, 1, 2), link_local(2)}), route,
                         Address::Family::v4));
  EXPECT_EQ(route.source, link_local(1));
  ASSERT_TRUE(best_route(rail({v4(10, 0, 1, 1), link_local(1)}), peer({v4(10, 0, 1, 2)}), route, Address::Family::v4));
  EXPECT_EQ(route.source, v4(10, 0, 1, 1));
  ASSERT_TRUE(
      best_route(rail({v4(10, 0, 1, 1), v6(1, 1)}), peer({v6(1, 2), v4(10, 0, 1, 2)}), route, Address::Family::v6));
  EXPECT_EQ(route.source, v4(10, 0, 1, 1));
}

// ----------------------------------------------------------------------------------------------------------- subnets

TEST(LanePlan, same_subnet__by_the_shorter_prefix) {
  EXPECT_TRUE(same_subnet(v4(10, 0, 1, 1), v4(10, 0, 1, 200)));
  EXPECT_FALSE(same_subnet(v4(10, 0, 1, 1), v4(10, 0, 2, 1)));
  EXPECT_TRUE(same_subnet(v4(10, 0, 1, 1, 16), v4(10, 0, 2, 1, 16)));
  EXPECT_TRUE(same_subnet(v4(10, 0, 1, 129, 25), v4(10, 0, 1, 255, 25)));
  EXPECT_FALSE(same_subnet(v4(10, 0, 1, 127, 25), v4(10, 0, 1, 128, 25)));
  EXPECT_TRUE(same_subnet(v4(10, 0, 1, 126, 31), v4(10, 0, 1, 127, 31)));
  EXPECT_FALSE(same_subnet(v4(10, 0, 1, 1, 32), v4(10, 0, 1, 2, 32)));
  EXPECT_TRUE(same_subnet(v4(1, 2, 3, 4, 0), v4(200, 2, 3, 4, 0)));
  EXPECT_TRUE(same_subnet(v6(1, 1), v6(1, 2)));
  EXPECT_FALSE(same_subnet(v6(1, 1), v6(2, 1)));
  EXPECT_FALSE(same_subnet(v4(10, 0, 1, 1), v6(1, 1)));
}

TEST(LanePlan, best_route__one_family_and_the_same_subnet_if_possible) {
  Route route;
  EXPECT_FALSE(best_route(rail({v4(10, 0, 1, 1)}), peer({v6(1, 1)}), route));
  ASSERT_TRUE(best_route(rail({v4(10, 0, 1, 1), v6(1, 1)}), peer({v4(10, 0, 2, 1), v6(1, 2)}), route));
  EXPECT_EQ(route.source, v6(1, 1));
  EXPECT_TRUE(route.same_subnet);
  ASSERT_TRUE(best_route(rail({v4(10, 0, 1, 1)}), peer({v4(10, 0, 2, 1)}), route));
  EXPECT_FALSE(route.same_subnet);
}

TEST(LanePlan, best_route__an_address_without_a_port_is_none) {
  Route route;
  EXPECT_FALSE(best_route(rail({v4(10, 0, 1, 1)}), peer({v4(10, 0, 1, 2)}, 0), route));
}

TEST(LanePlan, best_route__a_handles_address_is_judged_by_our_prefix) {
  Route route;
  ASSERT_TRUE(best_route(rail({v4(10, 0, 1, 1, 24)}), peer({v4(10, 0, 1, 2, 32)}), route));
  EXPECT_TRUE(route.same_subnet);
}

// -------------------------------------------------------------------------------------------------------------- pairs

TEST(LanePlan, choose_pairs__two_rails_each_on_subnets_of_their_own) {
  EXPECT_EQ(
      plan({rail({v4(10, 0, 1, 1)}), rail({v4(10, 0, 2, 1)})}, {peer({v4(10, 0, 1, 2)}), peer({v4(10, 0, 2, 2)})}),
      (PairList{{0, 0}, {1, 1}}));
}

TEST(LanePlan, choose_pairs__the_same_in_another_order_of_names) {
  EXPECT_EQ(
      plan({rail({v4(10, 0, 1, 1)}), rail({v4(10, 0, 2, 1)})}, {peer({v4(10, 0, 2, 2)}), peer({v4(10, 0, 1, 2)})}),
      (PairList{{0, 1}, {1, 0}}));
}

TEST(LanePlan, choose_pairs__one_shared_subnet) {
  const std::vector<Rail> local{rail({v4(10, 0, 1, 1)}), rail({v4(10, 0, 1, 2)})};
  const std::vector<PeerRail> remote{peer({v4(10, 0, 1, 3)}), peer({v4(10, 0, 1, 4)})};
  EXPECT_EQ(plan(local, remote), (PairList{{0, 0}, {1, 1}}));
}

TEST(LanePlan, choose_pairs__two_against_four_gives_four) {
  std::vector<Rail> local;
  std::vector<PeerRail> remote;
  for (int i = 0; i < 2; ++i) local.push_back(rail({v4(10, 0, 1, 1 + i)}));
  for (int i = 0; i < 4; ++i) remote.push_back(peer({v4(10, 0, 1, 11 + i)}));
  const PairList pairs = plan(local, remote);
  ASSERT_EQ(pairs.size(), 4u);
  for (int r = 0; r < 4; ++r) EXPECT_EQ(std::ranges::count(pairs, r, &RailPair::remote), 1);
  for (int l = 0; l < 2; ++l) EXPECT_EQ(std::ranges::count(pairs, l, &RailPair::local), 2);
}

TEST(LanePlan, choose_pairs__a_dead_pair_is_replaced) {
  std::vector<Rail> local;
  std::vector<PeerRail> remote;
  for (int i = 0; i < 2; ++i)
    local.push_back(rail({v4(10, 0, 1, 1 + i)})), remote.push_back(peer({v4(10, 0, 1, 11 + i)}));
  PairList candidates = candidate_pairs(local, remote);
  std::erase(candidates, RailPair{1, 1});
  const PairList pairs = choose_pairs(candidates, {{0, 0}}, 2, 2);
  ASSERT_EQ(pairs.size(), 3u);  // rail 1 of each side is still covered
  EXPECT_EQ(pairs[0], (RailPair{0, 0}));
}

TEST(LanePlan, choose_pairs__what_cannot_be_covered_is_left) {
  const std::vector<Rail> local{rail({v4(10, 0, 1, 1)}), rail({v6(1, 1)})};
  EXPECT_EQ(plan(local, {peer({v4(10, 0, 1, 2)})}), (PairList{{0, 0}}));
  EXPECT_EQ(plan(local, {}), PairList{});
}

TEST(LanePlan, choose_pairs__both_sides_agree_on_the_count_and_cover_all) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    const std::size_t locals = 1 + random() % 8, remotes = 1 + random() % 8;
    std::vector<Rail> a, b;
    std::vector<PeerRail> peers_of_b, peers_of_a;
    for (std::size_t i = 0; i < locals; ++i) {
      a.push_back(rail({v4(10, 0, int(random() % 3), int(1 + i))}));
      peers_of_b.push_back(peer(a.back().addresses));
    }
    for (std::size_t i = 0; i < remotes; ++i) {
      b.push_back(rail({v4(10, 0, int(random() % 3), int(101 + i))}));
      peers_of_a.push_back(peer(b.back().addresses));
    }
    const PairList forth = plan(a, peers_of_a), back = plan(b, peers_of_b);
    EXPECT_GE(forth.size(), std::max(locals, remotes));
    EXPECT_LT(forth.size(), locals + remotes);
    for (std::size_t l = 0; l < locals; ++l) EXPECT_GE(std::ranges::count(forth, int(l), &RailPair::local), 1);
    for (std::size_t r = 0; r < remotes; ++r) EXPECT_GE(std::ranges::count(forth, int(r), &RailPair::remote), 1);
    for (std::size_t r = 0; r < remotes; ++r) EXPECT_GE(std::ranges::count(back, int(r), &RailPair::local), 1);
  }
}

// --------------------------------------------------------------------------------------------------------------- lanes

TEST(LanePlan, lanes_per_pair__by_speed_and_by_what_is_below_the_rail) {
  Rail local = rail({v4(10, 0, 0, 1)});
  PeerRail remote = peer({v4(10, 0, 0, 2)});
  const auto lanes = [&](double local_mbps, int remote_mbps, int lanes_min, int asked = 0) {
    local.speed = Rate::from_megabits(local_mbps);
    local.lanes_min = lanes_min;
    remote.speed_mbps = std::uint32_t(remote_mbps);
    return lanes_per_pair(asked, local, remote);
  };
  EXPECT_EQ(1, lanes(25'000, 25'000, 1));
  EXPECT_EQ(4, lanes(200'000, 100'000, 1));
  EXPECT_EQ(8, lanes(25'000, 25'000, 8));
  EXPECT_EQ(8, lanes(400'000, 200'000, 4));
  EXPECT_EQ(16, lanes(100'000, 100'000, 32));
  EXPECT_EQ(2, lanes(100'000, 100'000, 8, 2));
}

// -------------------------------------------------------------------------------------------------------------- spread

TEST(LanePlan, spread_pairs__any_few_in_a_row_have_different_rails) {
  PairList all;
  for (int l = 0; l < 4; ++l)
    for (int r = 0; r < 6; ++r) all.push_back({l, r});
  const PairList spread = spread_pairs(all, 4, 6);
  ASSERT_EQ(spread.size(), all.size());
  for (const RailPair& pair : all) EXPECT_EQ(std::ranges::count(spread, pair), 1);
  EXPECT_EQ(PairList(spread.begin(), spread.begin() + 4), (PairList{{0, 0}, {1, 1}, {2, 2}, {3, 3}}));
  EXPECT_EQ(PairList(spread.begin() + 4, spread.begin() + 8), (PairList{{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
}

// All NICs are in one subnet, and the first ones of both ends are dead: the first round tries a way between others.
TEST(LanePlan, ways_of_round__reach_every_address_at_once_then_all_ways) {
  std::vector<RailPair> all;
  for (int rail = 0; rail < 8; ++rail)
    for (int address = 0; address < 4; ++address) all.push_back({rail, address});
  std::set<int> addresses, rails;
  std::set<std::pair<int, int>> tried;
  for (int round = 1; round <= 4; ++round) {
    const std::vector<RailPair> ways = ways_of_round(all, {}, 8, 4, round, 8);
    ASSERT_EQ(ways.size(), 8u);
    for (const RailPair& way : ways) {
      if (round == 1) addresses.insert(way.remote), rails.insert(way.local);
      tried.emplace(way.local, way.remote);
    }
  }
  EXPECT_EQ(addresses.size(), 4u);
  EXPECT_GE(rails.size(), 4u);
  EXPECT_EQ(tried.size(), 32u);
}

TEST(LanePlan, ways_of_round__near_ones_first_and_all_where_they_are_few) {
  EXPECT_EQ(ways_of_round({{1, 1}}, {{0, 0}, {0, 1}}, 2, 2, 3, 8), (std::vector<RailPair>{{1, 1}, {0, 0}, {0, 1}}));
  EXPECT_EQ(ways_of_round({{1, 1}}, {{0, 0}, {0, 1}}, 2, 2, 1, 2), (std::vector<RailPair>{{1, 1}, {0, 0}}));
}

}  // namespace
}  // namespace railweave::engine
