// LaneReconciler with fake lanes and a fake dialler; time stands still until the test advances it.
#include "engine/reconcile/lane_reconciler.h"

#include <stdexcept>

#include "tests/unit/engine/paper_dialler.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;
using Kind = JoinAnswer::Kind;

Rail own_rail(int number, bool v6) {
  Rail rail;
  rail.name = "eth" + std::to_string(number);
  rail.ifindex = 10 + number;
  rail.addresses = {{.family = Address::Family::v4, .bytes = {10, std::uint8_t(number), 0, 1}, .prefix_bits = 24}};
  if (v6)
    rail.addresses.push_back(
        {.family = Address::Family::v6, .bytes = {0xfd, std::uint8_t(number), 0, 1}, .prefix_bits = 64});
  return rail;
}

PeerRail peer_rail(int number, bool v6) {
  PeerRail rail{"nic" + std::to_string(number), 10'000, {}, false};
  for (Address address : own_rail(number, v6).addresses) {
    address.bytes[15] = 2;
    if (address.family == Address::Family::v4) address.bytes[3] = 2;
    rail.addresses.push_back({address, std::uint16_t(4000 + number)});
  }
  return rail;
}

class LaneReconcilerTest : public SessionLanesTest {
 protected:
  ~LaneReconcilerTest() override {
    reconciler_.reset();
    lanes_.close();  // before the dialler, which owns the state of their fake lanes
  }
  // Begins with `rails` rails at each end, and with a lane of pair 0-0 that made the session.
  void begin(int lanes_per_rail = 1, bool v6 = false, int rails = 2) {
    for (int i = 0; i < rails; ++i) {
      rails_.push_back(own_rail(i, v6));
      peer_rails_.push_back(peer_rail(i, v6));
    }
    add_lane(0, 0);
    reconciler_ = std::make_unique<LaneReconciler>(SessionAccess{timers_, dialler_, lanes_, rails_},
                                                   LaneReconciler::Options{lanes_per_rail, [] { return 0; }},
                                                   peer_rails_, LaneReconciler::FirstLane{{0, 0}, 0}, logged_absences_);
    reconciler_->poll();
  }
  // Begins with one pair, which is to have two lanes: only its second lane is dialled.
  void begin_with_one_pair() { begin(2, false, 1); }
  long dialled(const RailPair& rails) const {
    return std::ranges::count_if(dialler_.joins, [&](const auto& join) { return join->order.rails == rails; });
  }
  void lose_first_lane() {
    paper_[0].ending = Status(Code::remote, Scope::lane, "closed by the peer");
    drive();
  }
  // Begins, loses the only lane, and has no memory for another one. Returns the number of the join that asks, by the
  // pair of the lost lane. The dial of the other pair stays under way.
  std::size_t probe_without_memory() {
    begin();
    dialler_.cannot_begin = Status(Code::exhausted, Scope::lane, "the limit of pinned memory");
    dialler_.probes_can_begin = true;
    lose_first_lane();
    reconciler_->poll();
    timers_.pass(1s);
    const auto probe = std::ranges::find_if(dialler_.joins, [](const auto& join) {
      return join->order.rails == RailPair{0, 0};
    });
    if (probe == dialler_.joins.end()) throw std::runtime_error("nothing was asked");
    EXPECT_TRUE((*probe)->order.is_peer_probe);
    EXPECT_EQ((*probe)->order.lane, 0);
    return std::size_t(probe - dialler_.joins.begin());
  }
  const JoinOrder& order(std::size_t number) const { return dialler_.joins.at(number)->order; }
  std::vector<RailPair> open() const { return lanes_.table().rails_of_lanes(); }

  std::vector<Rail> rails_;
  std::vector<PeerRail> peer_rails_;
  LoggedAbsences logged_absences_;
  PaperTimers timers_{clock_};
  PaperDialler dialler_{lanes_};
  std::unique_ptr<LaneReconciler> reconciler_;
};

TEST_F(LaneReconcilerTest, poll__dials_what_the_plan_lacks_and_nothing_twice) {
  begin();
  EXPECT_EQ(dialler_.under_way(), (std::vector<RailPair>{{1, 1}}));
  EXPECT_EQ(order(0).lane, 1);
  EXPECT_FALSE(order(0).is_peer_probe);
  EXPECT_EQ(order(0).route.target.port, 4001);
  reconciler_->poll();
  EXPECT_EQ(dialler_.joins.size(), 1u);
}

TEST_F(LaneReconcilerTest, a_welcome_gives_the_session_a_lane) {
  begin(2);
  ASSERT_EQ(dialler_.joins.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) dialler_.welcome(i);
  EXPECT_EQ(open(), (std::vector<RailPair>{{0, 0}, {1, 1}, {0, 0}, {1, 1}}));
  EXPECT_EQ(dialler_.joins.size(), 3u);
  EXPECT_TRUE(dialler_.under_way().empty());
}

// A number is used up only if the peer may know a lane of this number.
TEST_F(LaneReconcilerTest, the_number_of_a_lane_that_was_never_confirmed_is_used_again) {
  begin_with_one_pair();
  dialler_.answer(0, Kind::failed);
  timers_.pass(5s);
  ASSERT_EQ(dialler_.joins.size(), 2u);
  EXPECT_EQ(order(1).lane, 1);
  dialler_.answer(1, Kind::duplicate);
  timers_.pass(5s);
  ASSERT_EQ(dialler_.joins.size(), 3u);
  EXPECT_EQ(order(2).lane, 2);
  dialler_.cannot_take = Status(Code::system, Scope::lane, "the connection broke");
  dialler_.welcome(2);
  timers_.pass(5s);
  ASSERT_EQ(dialler_.joins.size(), 4u);
  EXPECT_EQ(order(3).lane, 3);
}

TEST_F(LaneReconcilerTest, a_welcome_by_an_unknown_rail_of_the_peer_brings_no_lane) {
  begin_with_one_pair();
  dialler_.welcome(0, 1);
  EXPECT_EQ(dialler_.joins[0]->taken, 0);
  EXPECT_EQ(open().size(), 1u);
  timers_.pass(5s);
  ASSERT_EQ(dialler_.joins.size(), 2u);
  EXPECT_EQ(order(1).lane, 1);
}

TEST_F(LaneReconcilerTest, a_lost_lane_is_dialled_again_after_its_backoff) {
  begin();
  dialler_.welcome(0);
  lose_first_lane();
  reconciler_->poll();
  const auto of_lost_pair = [&] { return std::ranges::count(dialler_.under_way(), RailPair{0, 0}); };
  EXPECT_EQ(of_lost_pair(), 0);
  timers_.pass(1s);
  EXPECT_EQ(of_lost_pair(), 1);
}

TEST_F(LaneReconcilerTest, a_session_without_lanes_waits_for_the_one_being_dialled) {
  begin();
  lose_first_lane();
  EXPECT_FALSE(protocol_.is_over());
  dialler_.welcome(0);
  EXPECT_FALSE(protocol_.is_over());
  EXPECT_EQ(open(), (std::vector<RailPair>{{1, 1}}));
}

TEST_F(LaneReconcilerTest, an_instance_that_does_not_know_the_session_ends_it) {
  begin();
  dialler_.answer(0, Kind::unknown_session, "no such session");
  EXPECT_TRUE(protocol_.is_over());
  EXPECT_EQ(protocol_.lock()->error().message(), "connection to paper lost: it says: no such session");
  reconciler_->poll();
  EXPECT_EQ(dialler_.joins.size(), 1u);
}

TEST_F(LaneReconcilerTest, a_dial_that_cannot_begin_is_tried_again_later) {
  dialler_.cannot_begin = Status(Code::exhausted, Scope::lane, "no descriptors");
  begin();
  EXPECT_TRUE(dialler_.joins.empty());
  dialler_.cannot_begin = {};
  timers_.pass(5s);
  EXPECT_EQ(std::ranges::count(dialler_.under_way(), RailPair{1, 1}), 1);
}

// RDMA lanes pin memory, and the limit of pinned memory may have room for no further one.
TEST_F(LaneReconcilerTest, a_dial_for_which_memory_lacks_asks_whether_the_peer_lives) {
  const std::size_t probe = probe_without_memory();
  dialler_.answer(probe, Kind::refused_connection, "Connection refused");
  EXPECT_TRUE(protocol_.is_over());
  EXPECT_EQ(protocol_.lock()->error().message(), "connection to paper lost: Connection refused");
}

TEST_F(LaneReconcilerTest, a_lane_is_dialled_once_there_is_memory_and_the_peer_lives) {
  const std::size_t probe = probe_without_memory();
  dialler_.cannot_begin = {};
  dialler_.answer(probe, Kind::duplicate);
  EXPECT_FALSE(protocol_.is_over());
  timers_.pass(5s);
  const auto of_lost_pair = std::ranges::find_if(dialler_.joins, [](const auto& join) {
    return join->order.rails == RailPair{0, 0} && !join->order.is_peer_probe;
  });
  ASSERT_NE(of_lost_pair, dialler_.joins.end());
  EXPECT_NE((*of_lost_pair)->order.lane, 0);
  dialler_.welcome(std::size_t(of_lost_pair - dialler_.joins.begin()));
  EXPECT_EQ(open(), (std::vector<RailPair>{{0, 0}}));
}

// A welcome to a probe is no lane of ours.
TEST_F(LaneReconcilerTest, no_lane_comes_of_a_probe_that_is_welcomed) {
  const std::size_t probe = probe_without_memory();
  dialler_.welcome(probe);
  EXPECT_TRUE(open().empty());
  EXPECT_EQ(dialler_.joins[probe]->taken, 0);
}

TEST_F(LaneReconcilerTest, while_there_is_a_lane_nothing_is_asked_for_lack_of_memory) {
  dialler_.cannot_begin = Status(Code::exhausted, Scope::lane, "the limit of pinned memory");
  dialler_.probes_can_begin = true;
  begin();
  EXPECT_TRUE(dialler_.joins.empty());
}

TEST_F(LaneReconcilerTest, without_memory_the_session_fails) {
  dialler_.lacks_memory = true;
  begin();
  EXPECT_TRUE(protocol_.is_over());
  EXPECT_EQ(protocol_.lock()->error().code(), Code::exhausted);
}

TEST_F(LaneReconcilerTest, the_other_family_is_dialled_at_once_when_the_first_fails) {
  begin(1, true);
  ASSERT_EQ(dialler_.joins.size(), 1u);
  const Address::Family first = order(0).route.source.family;
  EXPECT_LE(order(0).time, 500ms) << "the other family may do";
  dialler_.answer(0, Kind::failed);
  ASSERT_EQ(dialler_.joins.size(), 2u);
  EXPECT_EQ(order(1).rails, (RailPair{1, 1}));
  EXPECT_NE(order(1).route.source.family, first);
}

TEST_F(LaneReconcilerTest, a_family_that_has_no_route_is_not_dialled) {
  std::optional<Address::Family> refused;
  dialler_.no_route = [&](int, const Route& route) -> std::string {
    if (!refused) refused = route.source.family;
    return route.source.family == *refused ? "no route" : "";
  };
  begin(1, true);
  ASSERT_EQ(dialler_.joins.size(), 1u);
  EXPECT_NE(order(0).route.source.family, *refused);
}

// The probe shows that packets pass by this pair. The slow dial's own SYN is retransmitted only seconds later.
TEST_F(LaneReconcilerTest, on_probe__a_dial_that_takes_long_is_made_anew) {
  begin();
  reconciler_->on_probe({1, 1}, Address::Family::v4, peer_rails_);
  EXPECT_EQ(dialled({1, 1}), 1) << "it is fresh";
  clock_.at += 1100ms;
  reconciler_->on_probe({1, 1}, Address::Family::v4, peer_rails_);
  EXPECT_EQ(dialled({1, 1}), 2);
  EXPECT_TRUE(dialler_.joins[0]->given_up);
  EXPECT_EQ(std::ranges::count(dialler_.under_way(), RailPair{1, 1}), 1);
}

// A firewall passes connections in one direction only: each probe comes by pairs whose dials get no answer, and renews
// these dials.
TEST_F(LaneReconcilerTest, on_probe__backup_pairs_are_dialled_beside_unanswered_dials) {
  begin();
  lose_first_lane();
  reconciler_->poll();
  const RailPair backup[] = {{0, 1}, {1, 0}}, primary[] = {{0, 0}, {1, 1}};
  ASSERT_EQ(dialler_.joins.size(), 3u);
  for (const std::size_t number : {1, 2}) dialler_.answer(number, Kind::failed);
  for (int second = 0; second < 3; ++second) {
    timers_.pass(1100ms);
    for (const RailPair& by : primary) reconciler_->on_probe(by, Address::Family::v4, peer_rails_);
  }
  for (const RailPair& rails : primary) EXPECT_GT(dialled(rails), 1) << "no dial was made anew";
  for (const RailPair& rails : backup) EXPECT_EQ(dialled(rails), 2);
}

// The peer may hear nothing by the open lanes: any pair may be the one that works.
TEST_F(LaneReconcilerTest, on_probe__every_pair_is_dialled) {
  begin();
  reconciler_->on_probe({1, 1}, Address::Family::v4, peer_rails_);
  for (const RailPair& rails : {RailPair{0, 0}, RailPair{0, 1}, RailPair{1, 0}, RailPair{1, 1}})
    EXPECT_EQ(dialled(rails), 1);
}

TEST_F(LaneReconcilerTest, a_rail_of_the_peer_is_not_dialled_while_its_link_is_down) {
  begin();
  PeerRail news = peer_rails_[1];
  news.link_down = true;
  reconciler_->on_peer_rails({{1, news}});
  dialler_.answer(0, Kind::failed);
  timers_.pass(10s);
  EXPECT_EQ(dialled({1, 1}), 1);
  EXPECT_EQ(dialled({0, 1}), 0);
  news.link_down = false;
  reconciler_->on_peer_rails({{1, news}});
  EXPECT_EQ(dialled({1, 1}), 2);
}

// ------------------------------------------------------------------- a lane is replaced by a lane of a better wire

// One pair with one lane, whose wire is not the best one.
class WireUpgrades : public LaneReconcilerTest {
 protected:
  void SetUp() override {
    dialler_.worse_wire = "paper";
    begin(1, false, 1);
  }
  bool retires(protocol::LaneId lane) { return protocol_.lock()->is_retiring(lane); }
};

TEST_F(WireUpgrades, begin_when_the_lane_is_steady) {
  timers_.pass(WireUpgrade::kFirstWait - 1ns);
  EXPECT_TRUE(dialler_.joins.empty());
  timers_.pass(1ns);
  ASSERT_EQ(dialler_.joins.size(), 1u);
  EXPECT_EQ(order(0).better_than, "paper");
  timers_.pass(1min);
  EXPECT_EQ(dialler_.joins.size(), 1u) << "a dial is under way";
}

TEST_F(WireUpgrades, end_when_the_better_lane_serves) {
  timers_.pass(WireUpgrade::kFirstWait);
  dialler_.welcome(0);
  EXPECT_TRUE(retires(0));
  EXPECT_FALSE(retires(order(0).lane));
  timers_.pass(1min);
  EXPECT_EQ(dialler_.joins.size(), 1u);
}

TEST_F(WireUpgrades, that_fail_come_less_often_and_leave_the_pair_alone) {
  timers_.pass(WireUpgrade::kFirstWait);
  dialler_.answer(0, Kind::failed);
  EXPECT_FALSE(retires(0));
  timers_.pass(2 * WireUpgrade::kFirstWait - 1ns);
  EXPECT_EQ(dialler_.joins.size(), 1u);
  timers_.pass(1ns);
  ASSERT_EQ(dialler_.joins.size(), 2u);
  dialler_.answer(1, Kind::failed);
  lose_first_lane();
  reconciler_->poll();
  timers_.pass(1s);
  ASSERT_EQ(dialler_.joins.size(), 3u) << "the failures put the pair into backoff";
  EXPECT_EQ(order(2).better_than, "");
}

TEST_F(WireUpgrades, that_bring_no_lane_leave_the_pair_alone_too) {
  timers_.pass(WireUpgrade::kFirstWait);
  dialler_.cannot_take = Status(Code::system, Scope::lane, "no memory");
  dialler_.welcome(0);
  dialler_.cannot_take = {};
  timers_.pass(2 * WireUpgrade::kFirstWait - 1ns);
  EXPECT_EQ(dialler_.joins.size(), 1u);
  timers_.pass(1ns);
  ASSERT_EQ(dialler_.joins.size(), 2u);
  dialler_.answer(1, Kind::failed);
  lose_first_lane();
  reconciler_->poll();
  timers_.pass(1s);
  EXPECT_EQ(dialler_.joins.size(), 3u) << "the failures put the pair into backoff";
}

TEST_F(WireUpgrades, that_cannot_begin_come_less_often) {
  dialler_.cannot_begin = Status(Code::system, Scope::lane, "no device");
  timers_.pass(2min);
  dialler_.cannot_begin = {};
  timers_.pass(9s);
  EXPECT_TRUE(dialler_.joins.empty()) << "the tries are due after 10, 30, 70 and 130 s";
  timers_.pass(1s);
  EXPECT_EQ(dialler_.joins.size(), 1u);
}

TEST_F(LaneReconcilerTest, destruction_gives_up_dials_and_the_timer) {
  begin();
  dialler_.answer(0, Kind::failed);
  reconciler_->poll();
  EXPECT_FALSE(timers_.none_is_set());
  timers_.pass(5s);
  ASSERT_FALSE(dialler_.under_way().empty());
  reconciler_.reset();
  EXPECT_TRUE(dialler_.under_way().empty());
  EXPECT_TRUE(timers_.none_is_set());
}

}  // namespace
}  // namespace railweave::engine
