// LaneTable with fake lanes and without a session.
#include "engine/session/lane_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <set>
#include <thread>

#include "tests/unit/engine/paper_lane.h"

namespace railweave::engine {
namespace {

class LaneTableTest : public testing::Test {
 protected:
  // Adds a lane, and returns its place; -1: none is free.
  int add(int number, int rail) {
    const int place = table_.find_free();
    if (place < 0) return place;
    start(place, number, rail);
    table_.publish(place);
    return place;
  }
  void start(int place, int number, int rail) {
    auto lane = std::make_unique<PaperLane>(paper_[number], "eth" + std::to_string(rail));
    protocol_.lock()->add_lane(protocol::LaneId(number), rail, rail);
    LaneDriver& driver = table_.at(place);
    const LaneDriver::Claim claim(driver);
    driver.start(protocol::LaneId(number), {rail, rail}, std::move(lane));
  }
  // Begins to end the lane: nobody reads or writes it any more, but the wire has not ended it yet.
  void begin_end(int place) {
    LaneDriver& driver = table_.at(place);
    const LaneDriver::Claim claim(driver);
    (void)driver.begin_end({Status(Code::remote, Scope::lane, "closed by the peer", ECONNRESET)});
  }
  void close(int place) {
    LaneDriver& driver = table_.at(place);
    const LaneDriver::Claim claim(driver);
    driver.close();
  }
  // Blocks the lane: a frame of the protocol stays half written.
  void block(int place, int number) {
    {
      const SharedProtocol::Locked locked = protocol_.lock();
      locked->announce_rail({.rail = number, .edition = 1, .bytes = "a rail"});
      locked.publish();
    }
    paper_[number].stuck = true;
    LaneDriver& driver = table_.at(place);
    const LaneDriver::Claim claim(driver);
    (void)driver.pass(1 << 20, true);
  }
  // Returns the numbers of the lanes that with_lane() finds for `which`.
  template <class Which>
  std::vector<int> found(const Which& which) const {
    std::vector<int> numbers;
    table_.with_lane(which, [&](LaneDriver& lane) { numbers.push_back(lane.id()); });
    return numbers;
  }

  Paper paper_[4];
  SharedProtocol protocol_{{}, monotonic_clock()};
  ArrivalFlags arrivals_;
  LaneTable table_{protocol_, arrivals_, {}};
};

using Numbers = std::vector<int>;

// ------------------------------------------------------------------------------------------------------------- places

TEST_F(LaneTableTest, find_free__a_place_is_seen_once_it_is_published) {
  ASSERT_EQ(table_.find_free(), 0);
  EXPECT_EQ(table_.count(), 0);
  start(0, 0, 0);
  EXPECT_TRUE(table_.rails_of_lanes().empty());
  table_.publish(0);
  EXPECT_EQ(table_.count(), 1);
  EXPECT_EQ(table_.rails_of_lanes(), (std::vector<RailPair>{{0, 0}}));
}

TEST_F(LaneTableTest, find_free__a_place_that_nothing_came_of_is_found_again) {
  ASSERT_EQ(table_.find_free(), 0);
  EXPECT_EQ(table_.find_free(), 0);
  EXPECT_TRUE(table_.at(0).is_free());
}

TEST_F(LaneTableTest, find_free__the_first_place_of_an_ended_lane_is_used_again) {
  for (const int number : {0, 1, 2}) ASSERT_EQ(add(number, number), number);
  const LaneDriver* const before = &table_.at(1);
  close(1);
  close(2);
  EXPECT_EQ(add(3, 3), 1);
  EXPECT_EQ(&table_.at(1), before);
  EXPECT_EQ(table_.count(), 3) << "publish() of an old place makes no new one";
  EXPECT_EQ(table_.at(1).generation(), 2u);
}

TEST_F(LaneTableTest, find_free__a_lane_that_is_ending_keeps_its_place) {
  paper_[0].lingers = true;
  ASSERT_EQ(add(0, 0), 0);
  begin_end(0);
  EXPECT_TRUE(table_.any_is_ending());
  EXPECT_EQ(table_.find_free(), 1);
  close(0);
  EXPECT_FALSE(table_.any_is_ending());
  EXPECT_EQ(table_.find_free(), 0);
}

TEST_F(LaneTableTest, find_free__the_number_of_places_is_bounded) {
  std::set<const LaneDriver*> places;
  for (int i = 0; i < kPlacesMax; ++i) {
    const int place = table_.find_free();
    ASSERT_EQ(place, i);
    LaneDriver& driver = table_.at(place);
    const LaneDriver::Claim claim(driver);
    driver.start(protocol::LaneId(i), {0, 0}, std::make_unique<PaperLane>(paper_[0], "eth0"));
    table_.publish(place);
    places.insert(&driver);
  }
  EXPECT_EQ(table_.find_free(), -1);
  close(kPlacesMax - 1);
  EXPECT_EQ(table_.find_free(), kPlacesMax - 1);
  for (int i = 0; i < kPlacesMax; ++i) EXPECT_TRUE(places.contains(&table_.at(i))) << i << " has moved";
}

TEST_F(LaneTableTest, close__frees_every_place_also_of_lanes_that_are_ending) {
  paper_[1].lingers = true;
  for (const int number : {0, 1}) ASSERT_EQ(add(number, number), number);
  begin_end(1);
  table_.close();
  EXPECT_TRUE(paper_[0].closed && paper_[1].closed);
  EXPECT_EQ(table_.count(), 2) << "a place never goes";
  EXPECT_TRUE(table_.at(0).is_free() && table_.at(1).is_free());
  table_.close();
  EXPECT_EQ(add(2, 2), 0);
}

// ----------------------------------------------------------------------------------------------------- finding a lane

TEST_F(LaneTableTest, with_lane__a_number_leads_to_the_open_lane_that_has_it) {
  for (const int number : {0, 1}) ASSERT_EQ(add(number, number), number);
  EXPECT_EQ(found(protocol::LaneId(1)), Numbers{1});
  EXPECT_EQ(found(protocol::LaneId(2)), Numbers{});
  paper_[1].lingers = true;
  begin_end(1);
  EXPECT_EQ(found(protocol::LaneId(1)), Numbers{}) << "nobody reads or writes it any more";
  close(1);
  EXPECT_EQ(found(protocol::LaneId(1)), Numbers{}) << "its place still has the number";
  ASSERT_EQ(add(2, 2), 1);
  EXPECT_EQ(found(protocol::LaneId(1)), Numbers{});
  EXPECT_EQ(found(protocol::LaneId(2)), Numbers{2});
}

TEST_F(LaneTableTest, find__a_lane_is_found_until_it_ends_and_no_successor) {
  ASSERT_EQ(add(0, 0), 0);
  const LaneRef seen{0, table_.at(0).generation()};
  EXPECT_EQ(table_.find(seen), &table_.at(0));
  EXPECT_EQ(found(seen), Numbers{0});
  close(0);
  EXPECT_EQ(table_.find(seen), nullptr);
  ASSERT_EQ(add(1, 1), 0);
  EXPECT_EQ(table_.find(seen), nullptr);
  EXPECT_EQ(found(seen), Numbers{});
  EXPECT_EQ(found(LaneRef{0, seen.generation + 1}), Numbers{1});
}

// Between the lookup and the claim, the lane may end and another lane may take its place.
TEST_F(LaneTableTest, with_lane__what_becomes_of_a_lane_before_its_claim_counts) {
  ASSERT_EQ(add(0, 0), 0);
  const LaneRef seen{0, table_.at(0).generation()};
  LaneDriver& driver = table_.at(0);
  std::atomic<int> begun{0};
  Numbers by_number, by_ref;
  std::thread number, ref;
  {
    const LaneDriver::Claim claim(driver);
    number = std::thread([&] { ++begun, by_number = found(protocol::LaneId(0)); });
    ref = std::thread([&] { ++begun, by_ref = found(seen); });
    while (begun < 2) std::this_thread::yield();
    driver.close();
    driver.start(1, {1, 1}, std::make_unique<PaperLane>(paper_[1], "eth1"));
  }
  number.join();
  ref.join();
  EXPECT_EQ(by_number, Numbers{});
  EXPECT_EQ(by_ref, Numbers{});
}

TEST_F(LaneTableTest, each_claimed__holds_one_claim_at_a_time_also_of_closed_lanes) {
  for (const int number : {0, 1, 2}) ASSERT_EQ(add(number, number), number);
  close(1);
  const auto is_claimed = [this](int place) RW_NO_THREAD_SAFETY_ANALYSIS {
    if (!table_.at(place).try_claim()) return true;
    table_.at(place).release();
    return false;
  };
  Numbers visited;
  table_.each_claimed([&](LaneDriver& lane) {
    visited.push_back(lane.id());
    for (int place = 0; place < table_.count(); ++place)
      EXPECT_EQ(is_claimed(place), &table_.at(place) == &lane) << place;
  });
  EXPECT_EQ(visited, (Numbers{0, 1, 2}));
  for (int place = 0; place < table_.count(); ++place) EXPECT_FALSE(is_claimed(place)) << place;
}

// -------------------------------------------------------------------------------------------------- all lanes together

TEST_F(LaneTableTest, rail_names__those_of_open_lanes_once_each) {
  EXPECT_EQ(table_.rail_names(), "");
  ASSERT_EQ(add(0, 1), 0);
  ASSERT_EQ(add(1, 0), 1);
  ASSERT_EQ(add(2, 1), 2);
  ASSERT_EQ(add(3, 3), 3);
  EXPECT_EQ(table_.rail_names(), "eth0, eth1, eth3");
  paper_[3].lingers = true;
  begin_end(3);
  close(0);
  EXPECT_EQ(table_.rail_names(), "eth0, eth1");
  EXPECT_EQ(table_.rails_of_lanes(), (std::vector<RailPair>{{0, 0}, {1, 1}}));
}

TEST_F(LaneTableTest, every_lane_is_blocked__asks_open_lanes_and_there_must_be_one) {
  EXPECT_FALSE(table_.every_lane_is_blocked());
  for (const int number : {0, 1}) ASSERT_EQ(add(number, number), number);
  block(0, 0);
  ASSERT_TRUE(table_.at(0).blocked());
  EXPECT_FALSE(table_.every_lane_is_blocked());
  paper_[1].lingers = true;
  begin_end(1);
  EXPECT_TRUE(table_.every_lane_is_blocked()) << "one that is ending takes nothing";
  close(0);
  EXPECT_FALSE(table_.every_lane_is_blocked());
}

TEST_F(LaneTableTest, every_lane_is_blocked__needs_no_claim) {
  ASSERT_EQ(add(0, 0), 0);
  block(0, 0);
  LaneDriver& driver = table_.at(0);
  const LaneDriver::Claim claim(driver);
  EXPECT_TRUE(table_.every_lane_is_blocked());
  EXPECT_EQ(table_.find({0, 1}), &driver);
  EXPECT_EQ(table_.rails_of_lanes().size(), 1u);
  EXPECT_FALSE(table_.any_is_ending());
  EXPECT_TRUE(table_.stats().empty());
}

// ----------------------------------------------------------------------------------------------------------- counting

std::shared_ptr<wire::LaneMetrics> lane_that_sent(const std::string& rail, const std::string& from, std::uint64_t bytes,
                                                  const char* wire = "tcp") {
  auto metrics = std::make_shared<wire::LaneMetrics>(wire, rail, from, "far");
  metrics->sent.payload_bytes.add(bytes);
  metrics->received.payload_bytes.add(2 * bytes);
  return metrics;
}

TEST_F(LaneTableTest, stats__lanes_by_place_then_sums_of_former_ones_by_rail) {
  table_.count_by(0, lane_that_sent("eth0", "a", 1));
  table_.count_by(1, lane_that_sent("eth1", "b", 10));
  table_.count_by(0, lane_that_sent("eth1", "c", 100));     // replaces eth0
  table_.count_by(1, lane_that_sent("eth0", "d", 1000));    // replaces eth1
  table_.count_by(0, lane_that_sent("eth0", "e", 10'000));  // replaces eth1
  const std::vector<LaneStats> stats = table_.stats();
  ASSERT_EQ(stats.size(), 4u);
  const auto expect = [&](std::size_t at, const std::string& rail, const std::string& from, std::uint64_t bytes) {
    EXPECT_EQ(stats[at].rail, rail) << at;
    EXPECT_EQ(stats[at].local_address, from) << at;
    EXPECT_EQ(stats[at].bytes_sent, bytes) << at;
    EXPECT_EQ(stats[at].bytes_received, 2 * bytes) << at;
  };
  expect(0, "eth0", "e", 10'000);
  expect(1, "eth0", "d", 1000);
  expect(2, "eth0", "a", 1);
  expect(3, "eth1", "c", 110);
}

TEST_F(LaneTableTest, stats__sums_of_former_lanes_are_by_wire_too) {
  table_.count_by(0, lane_that_sent("eth0", "a", 1, "verbs"));
  table_.count_by(0, lane_that_sent("eth0", "b", 10));  // replaces the verbs lane
  table_.count_by(0, lane_that_sent("eth0", "c", 100, "verbs"));
  const std::vector<LaneStats> stats = table_.stats();
  ASSERT_EQ(stats.size(), 3u);
  EXPECT_EQ(stats[0].bytes_sent, 100u);
  EXPECT_EQ(stats[1].wire, "verbs");
  EXPECT_EQ(stats[1].bytes_sent, 1u);
  EXPECT_EQ(stats[2].wire, "tcp");
  EXPECT_EQ(stats[2].bytes_sent, 10u);
}

TEST_F(LaneTableTest, stats__what_a_lane_counts_later_is_read_anew) {
  const auto metrics = lane_that_sent("eth0", "a", 1);
  table_.count_by(0, metrics);
  ASSERT_EQ(table_.stats().size(), 1u);
  metrics->sent.payload_bytes.add(4);
  EXPECT_EQ(table_.stats()[0].bytes_sent, 5u);
}

}  // namespace
}  // namespace railweave::engine
