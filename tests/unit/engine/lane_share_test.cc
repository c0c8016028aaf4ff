// LaneShare without turns: lanes that share a rail. The test sets the time.
#include "engine/credit/lane_share.h"

#include <gtest/gtest.h>

#include "tests/unit/engine/paper_account.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;
using Credit = LaneShare::Credit;

constexpr TimePoint kShareTime{1h};
constexpr Nanos kShareRtt = 100us;  // the target is 62500 bytes at 1 Gb/s
constexpr std::uint64_t kGigabitIn5Ms = 625'000;
constexpr std::uint64_t kEvenOf2 = 31'250, kEvenOf3 = 20'833, kIdleOf3 = 43'690;

// A lane's share of its rail, and its arrivals.
struct SharingLane {
  SharingLane(const std::shared_ptr<RailAccount>& account, Rate speed) : share(account, speed) {}
  Credit poll(TimePoint now) { return share.poll(now, arrivals, kShareRtt); }
  Credit arrive(TimePoint now, std::uint64_t bytes, std::uint32_t waiting_kib) {
    arrivals = {.position = arrivals.position + bytes, .segments = arrivals.segments + 1, .waiting_kib = waiting_kib};
    return poll(now);
  }

  LaneShare share;
  LaneShare::Arrivals arrivals;
};

class LaneShareTest : public testing::Test {
 protected:
  // Expects about kEvenOf2: the rate decays slowly while little arrives.
  static void expect_even_of_2(const Credit& credit) {
    EXPECT_NEAR(double(credit.window_bytes), double(kEvenOf2), 6000);
    EXPECT_EQ(credit.limit, Credit::kNone);
  }
  // Fills the rail for 20 ms by all lanes of lanes_. Each peer has more to send.
  void fill_rail() {
    for (int sample = 0; sample < 4; ++sample, now_ += 5ms)
      for (SharingLane* lane : lanes_) (void)lane->arrive(now_, kGigabitIn5Ms, 100);
    now_ -= 5ms;
  }
  // A few bytes arrive by each of `lanes`, and by no other lane. No time passes.
  void keep_sending(std::initializer_list<SharingLane*> lanes) {
    for (int round = 0; round < 2; ++round)  // each lane sees the demand of the others
      for (SharingLane* lane : lanes) (void)lane->arrive(now_, 1000, 100);
  }

  std::shared_ptr<AccountMemory> memory_ = std::make_shared<AccountMemory>();
  std::shared_ptr<RailAccount> account_ = std::make_shared<RailAccount>(memory_);
  SharingLane a_{account_, Rate::from_megabits(1000)}, b_{account_, Rate::from_megabits(1000)},
      c_{account_, Rate::from_megabits(1000)};
  std::vector<SharingLane*> lanes_{&a_, &b_};
  TimePoint now_ = kShareTime;
};

TEST_F(LaneShareTest, poll__a_lane_alone_has_no_bound) {
  lanes_ = {&a_};
  fill_rail();
  EXPECT_EQ(a_.poll(now_), Credit());
  EXPECT_EQ(a_.share.due(), now_ + 10ms) << "as long as the lane brings much";
  for (int i = 0; i < 2; ++i) (void)a_.arrive(now_ += 10ms, 1000, 100);
  EXPECT_EQ(a_.share.due(), now_ + 100ms);
}

TEST_F(LaneShareTest, poll__two_lanes_have_even_windows_that_sum_to_the_target) {
  fill_rail();
  EXPECT_EQ(a_.poll(now_), (Credit{.window_bytes = kEvenOf2}));
  EXPECT_EQ(b_.poll(now_), (Credit{.window_bytes = kEvenOf2}));
}

TEST_F(LaneShareTest, poll__a_third_lane_shrinks_windows_and_its_end_restores_them) {
  fill_rail();
  (void)c_.arrive(now_, 1000, 100);
  for (SharingLane* lane : {&a_, &b_}) EXPECT_EQ(lane->poll(now_).window_bytes, kEvenOf3);
  (void)c_.arrive(now_, 1000, 0);
  for (SharingLane* lane : {&a_, &b_}) EXPECT_EQ(lane->poll(now_).window_bytes, kEvenOf2);
  (void)b_.arrive(now_, 1000, 0);
  EXPECT_EQ(a_.poll(now_).window_bytes, kEvenOf2) << "it brought much until now";
  for (int i = 0; i < 3; ++i) (void)b_.poll(now_ += 10ms);
  EXPECT_EQ(a_.poll(now_), Credit());
}

TEST_F(LaneShareTest, poll__a_lane_that_ends_has_the_idle_window_after_100_ms) {
  lanes_.push_back(&c_);
  fill_rail();
  (void)a_.poll(now_ += 5ms);
  (void)a_.poll(now_ += 10ms);  // the lane's weight is forgotten
  const std::uint64_t before = a_.arrive(now_, 1000, 100).window_bytes;
  EXPECT_NEAR(double(before), double(kEvenOf3), 100);
  EXPECT_EQ(a_.arrive(now_ + 1ms, 1000, 0).window_bytes, before);
  EXPECT_EQ(a_.share.due(), now_ + 100ms);
  EXPECT_EQ(a_.poll(now_ + 100ms - 1ns).window_bytes, before);
  EXPECT_EQ(a_.poll(now_ + 100ms), (Credit{.window_bytes = kIdleOf3}));
  EXPECT_EQ(a_.share.due(), TimePoint::max()) << "an idle process is not woken";
}

TEST_F(LaneShareTest, poll__a_lane_that_goes_on_within_100_ms_shares_again) {
  fill_rail();
  (void)a_.arrive(now_, 1000, 0);
  keep_sending({&a_, &b_});
  expect_even_of_2(a_.poll(now_ + 50ms));
}

TEST_F(LaneShareTest, poll__a_lane_that_never_had_more_to_send_has_the_idle_window) {
  (void)b_.poll(kShareTime);
  (void)c_.poll(kShareTime);
  EXPECT_EQ(a_.arrive(kShareTime, 1000, 0), (Credit{.window_bytes = kIdleOf3}));
  EXPECT_EQ(a_.share.due(), TimePoint::max());
}

TEST_F(LaneShareTest, poll__a_peer_that_sends_nothing_for_300_ms_has_no_demand) {
  fill_rail();
  now_ += 300ms - 1ns;
  (void)b_.arrive(now_, 1000, 100);
  expect_even_of_2(a_.poll(now_));
  expect_even_of_2(b_.poll(now_));
  now_ += 1ns;
  (void)a_.poll(now_);
  EXPECT_EQ(b_.poll(now_), Credit());
}

// The lane's last segment announced more data, but another lane carries the rest. Only control frames arrive by this
// lane.
TEST_F(LaneShareTest, poll__control_frames_are_no_sign_of_demand) {
  fill_rail();
  for (int ms = 0; ms < 300; ms += 10) {
    (void)b_.arrive(now_, 1000, 100);
    a_.arrivals.position += 64;
    expect_even_of_2(a_.poll(now_));
    now_ += 10ms;
  }
  (void)b_.arrive(now_, 1000, 100);
  a_.arrivals.position += 64;
  (void)a_.poll(now_);
  EXPECT_EQ(b_.poll(now_), Credit());
}

// Nobody polls the lanes of a process that hangs.
TEST_F(LaneShareTest, poll__demand_of_a_lane_without_polls_ends_with_its_lease) {
  fill_rail();
  (void)b_.arrive(now_ + 250ms, 1000, 100);
  expect_even_of_2(b_.arrive(now_ + 500ms, 1000, 100));
  EXPECT_EQ(b_.arrive(now_ + 500ms + 1ns, 1000, 100), Credit());
}

// The host stood still: the lane that polls first finds the leases of all others expired.
TEST_F(LaneShareTest, poll__a_pause_of_the_host_does_not_hide_the_other_lanes) {
  fill_rail();
  now_ += 700ms;
  expect_even_of_2(a_.arrive(now_, 1000, 100));
  (void)a_.arrive(now_ + 250ms, 1000, 100);
  expect_even_of_2(a_.arrive(now_ + 500ms - 1ns, 1000, 100));
  EXPECT_EQ(a_.arrive(now_ + 500ms, 1000, 100), Credit()) << "the other one did not come back";
}

// A peer with a large window has all its data under way, so no data waits.
TEST_F(LaneShareTest, poll__a_lane_that_brings_much_has_demand_though_none_waits) {
  fill_rail();
  for (int sample = 0; sample < 60; ++sample, now_ += 5ms)
    for (SharingLane* lane : lanes_) (void)lane->arrive(now_, kGigabitIn5Ms / 2, 0);
  expect_even_of_2(a_.poll(now_));
  expect_even_of_2(b_.poll(now_));
}

TEST_F(LaneShareTest, destruction_leaves_the_share_to_the_others) {
  fill_rail();
  {
    SharingLane gone{account_, Rate::from_megabits(1000)};
    (void)gone.arrive(now_, 1000, 100);
    ASSERT_EQ(a_.poll(now_).window_bytes, kEvenOf3);
  }
  EXPECT_EQ(a_.poll(now_).window_bytes, kEvenOf2);
}

TEST_F(LaneShareTest, poll__a_lane_whose_place_was_taken_over_counts_elsewhere) {
  fill_rail();
  memory_->places[0].leased_until = 1;  // as another owner would write
  (void)a_.arrive(now_, 1000, 100);
  EXPECT_EQ(b_.poll(now_).window_bytes, kEvenOf2);
  EXPECT_EQ(load_of(*memory_, now_).demanding, 2);
}

TEST_F(LaneShareTest, poll__a_lane_has_the_least_window_while_the_account_is_full) {
  fill_rail();
  now_ += 1ms;
  for (int i = 0; i < AccountMemory::kPlaces; ++i) write_place(*memory_, i, {.polled_at = now_});
  EXPECT_EQ(a_.arrive(now_, 1000, 100), (Credit{.window_bytes = kShareLeast}));
  EXPECT_EQ(a_.share.due(), TimePoint::max());
  now_ += 500ms;  // all leases have expired
  EXPECT_EQ(a_.arrive(now_ + 1ns, 1000, 100), Credit()) << "alone";
  expect_even_of_2(b_.arrive(now_ + 1ns, 1000, 100));
  expect_even_of_2(a_.poll(now_ + 1ns));
}

// Lanes on a virtual NIC, whose nominal speed is not known: a count that jumps would look like a rail without bounds.
class UnknownSpeedLaneShareTest : public LaneShareTest {
 protected:
  UnknownSpeedLaneShareTest() { lanes_ = {&d_, &e_}; }
  // Bytes arrive at 1 Gb/s, half of them by each lane.
  void arrive_for(Nanos time) {
    for (const TimePoint end = now_ + time; now_ < end;) {
      now_ += 5ms;
      (void)d_.arrive(now_, kGigabitIn5Ms / 2, 100);
      (void)e_.arrive(now_, kGigabitIn5Ms / 2, 100);
    }
  }

  SharingLane d_{account_, Rate{}}, e_{account_, Rate{}};
};

TEST_F(UnknownSpeedLaneShareTest, poll__windows_follow_what_arrives) {
  arrive_for(50ms);
  EXPECT_NEAR(double(d_.poll(now_).window_bytes), double(kEvenOf2), 200);
}

TEST_F(UnknownSpeedLaneShareTest, poll__what_arrived_before_in_another_memory_is_no_rate) {
  arrive_for(50ms);
  const auto shared = std::make_shared<AccountMemory>();
  shared->places[0].arrived_bytes = 1'000'000'000'000;
  shared->used = 1;
  account_->share(shared);
  arrive_for(20ms);
  EXPECT_LT(d_.poll(now_).window_bytes, 2 * kEvenOf2);
  EXPECT_LT(e_.poll(now_).window_bytes, 2 * kEvenOf2);
}

TEST_F(UnknownSpeedLaneShareTest, poll__what_arrived_without_a_place_is_no_rate) {
  for (int i = 0; i < AccountMemory::kPlaces; ++i) write_place(*memory_, i, {.polled_at = now_});
  SharingLane late{account_, Rate{}};
  ASSERT_EQ(late.arrive(now_, 1000, 100), (Credit{.window_bytes = kShareLeast}));
  (void)late.arrive(now_ + 50ms, 1'000'000'000'000, 100);
  now_ += 520ms;
  arrive_for(10ms);
  (void)late.arrive(now_, 1000, 100);
  arrive_for(10ms);
  EXPECT_LT(d_.poll(now_).window_bytes, 2 * kEvenOf2);
}

}  // namespace
}  // namespace railweave::engine
