// SimLink: rates, delays and faults of simulated lanes, and the same run for the same seed.
#include "wire/sim/link.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/wire/counting_handler.h"
#include "wire/sim/network.h"

namespace railweave::wire {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

LinkSpec steady(double megabits) {
  LinkSpec spec;
  spec.rate = Rate::from_megabits(megabits);
  spec.pause_probability = 0;
  return spec;
}

// One lane with a CountingHandler at each end. Each end reads and writes whenever the lane is ready.
struct Talk {
  Talk(SimNetwork& network, SimLink& link) : Talk(network, link, link) {}
  Talk(SimNetwork& network, SimLink& near, SimLink& far) : net(network) {
    auto [first, second] = net.connect(near, far);
    a = std::move(first);
    b = std::move(second);
    a->on_ready = [this](Lane&) { drive(*a, at_a, lost_a); };
    b->on_ready = [this](Lane&) { drive(*b, at_b, lost_b); };
  }

  void send(std::size_t frames, std::size_t payload) {
    at_a.to_send.insert(at_a.to_send.end(), frames, payload);
    EXPECT_TRUE(a->write(at_a).ok());
  }

  void drive(SimLane& lane, CountingHandler& handler, Status& lost) {
    while (lost.ok()) {
      auto moved = lane.read(handler, 64 * KiB);
      if (!moved.ok()) lost = moved.status();
      if (!moved.ok() || moved->blocked) break;
    }
    last_ready = net.now();
    EXPECT_TRUE(lane.write(handler).ok());
  }

  SimNetwork& net;
  std::unique_ptr<SimLane> a, b;
  CountingHandler at_a, at_b;
  Status lost_a, lost_b;
  TimePoint last_ready{};
};

TEST(SimLink, carries_its_rate) {
  SimNetwork net(1);
  Talk talk(net, net.add_link(steady(8000)));  // 1 GB/s
  talk.send(100, 100'000);
  const TimePoint begin = net.now();
  EXPECT_TRUE(net.run_while_not([&] { return talk.at_b.arrived == 100; }, begin + milliseconds(100)));
  const double ms = double((net.now() - begin).count()) / 1e6;
  EXPECT_GT(ms, 10.0);  // 10 MB
  EXPECT_LT(ms, 10.3);
}

TEST(SimLink, lanes_on_one_link_share_its_rate) {
  SimNetwork net(2);
  SimLink& link = net.add_link(steady(8000));
  Talk one(net, link), two(net, link);
  one.send(50, 100'000);
  two.send(50, 100'000);
  const TimePoint begin = net.now();
  net.run_until(begin + milliseconds(5));
  EXPECT_NEAR(double(one.at_b.arrived_payload), double(two.at_b.arrived_payload), 500'000);
  EXPECT_TRUE(net.run_while_not([&] { return one.at_b.arrived + two.at_b.arrived == 100; }, begin + milliseconds(100)));
  EXPECT_NEAR(double((net.now() - begin).count()) / 1e6, 10.1, 0.3);
}

TEST(SimLink, min_rtt_is_twice_the_delay_and_a_bit) {
  SimNetwork net(3);
  LinkSpec spec = steady(10'000);
  spec.delay = microseconds(100);
  Talk talk(net, net.add_link(spec));
  talk.send(1, 8);
  net.run_until(net.now() + milliseconds(1));
  EXPECT_GE(talk.a->health().min_rtt, microseconds(200));
  EXPECT_LT(talk.a->health().min_rtt, microseconds(202));
  EXPECT_EQ(talk.a->health().outstanding_bytes, 0u);
}

TEST(SimLink, slows_down_in_mid_transfer) {
  SimNetwork net(4);
  SimLink& link = net.add_link(steady(8000));
  Talk talk(net, link);
  talk.send(1000, 100'000);
  net.after(milliseconds(10), [&] { link.set_rate(Rate::from_megabits(800)); });
  net.run_until(net.now() + milliseconds(10));
  const auto before = talk.at_b.arrived_payload;
  net.run_until(net.now() + milliseconds(10));
  EXPECT_NEAR(double(before), 10e6, 0.5e6);
  EXPECT_NEAR(double(talk.at_b.arrived_payload - before), 1e6, 0.3e6);
}

TEST(SimLink, what_is_under_transmission_is_as_fast_as_the_link_is_now) {
  SimNetwork net(4);
  SimLink& link = net.add_link(steady(8000));
  Talk talk(net, link);
  talk.send(20, 10'000);
  net.run_until(net.now() + microseconds(50));
  link.set_rate(Rate::from_megabits(0.001));  // a piece of 16 KiB would take two minutes
  net.run_until(net.now() + milliseconds(10));
  EXPECT_LT(talk.at_b.arrived, 20u);
  link.set_rate(Rate::from_megabits(8000));
  net.run_until(net.now() + milliseconds(2));
  EXPECT_EQ(talk.at_b.arrived, 20u);
}

TEST(SimLink, cut__ends_both_lanes_after_what_had_arrived) {
  SimNetwork net(5);
  SimLink& link = net.add_link(steady(1000));
  Talk talk(net, link), late(net, link);
  late.b->on_ready = nullptr;  // this end does not read until afterwards
  talk.send(100, 100'000);
  late.send(1, 1000);
  net.run_until(net.now() + milliseconds(5));
  link.cut();
  net.run_until(net.now() + milliseconds(5));
  EXPECT_EQ(talk.lost_a.code(), Code::remote);
  EXPECT_EQ(talk.lost_b.code(), Code::remote);
  EXPECT_LT(talk.at_b.arrived, 100u);
  late.drive(*late.b, late.at_b, late.lost_b);
  EXPECT_EQ(late.at_b.arrived, 1u);
  EXPECT_EQ(late.lost_b.code(), Code::remote);

  link.restore();
  Talk again(net, link);
  again.send(1, 1000);
  net.run_until(net.now() + milliseconds(5));
  EXPECT_EQ(again.at_b.arrived, 1u);
}

TEST(SimLink, a_lane_made_on_a_cut_link_is_lost_from_the_start) {
  SimNetwork net(6);
  SimLink& link = net.add_link(steady(1000));
  link.cut();
  Talk talk(net, link);
  net.run_until(net.now() + milliseconds(1));
  EXPECT_EQ(talk.lost_a.code(), Code::remote);
  EXPECT_EQ(talk.lost_b.code(), Code::remote);
}

TEST(SimLink, silence__holds_everything_and_ends_no_lane) {
  SimNetwork net(7);
  SimLink& link = net.add_link(steady(1000));
  Talk talk(net, link);
  talk.send(100, 10'000);
  net.run_until(net.now() + milliseconds(2));
  link.silence();
  const auto before = talk.at_b.arrived;
  net.run_until(net.now() + std::chrono::seconds(10));
  EXPECT_EQ(talk.at_b.arrived, before);
  EXPECT_TRUE(talk.lost_a.ok() && talk.lost_b.ok());
  EXPECT_GT(talk.a->health().outstanding_bytes, 0u);
  link.resume();
  net.run_until(net.now() + milliseconds(20));
  EXPECT_EQ(talk.at_b.arrived, 100u);
}

TEST(SimLink, silent_one_way_carries_the_other_but_no_acknowledgements) {
  SimNetwork net(1);
  SimLink& link = net.add_link(steady(1000));
  Talk talk(net, link);
  link.silence(1);
  talk.send(3, 1000);
  net.run_until(net.now() + milliseconds(300));
  EXPECT_EQ(talk.at_b.arrived, 3u);
  EXPECT_EQ(talk.a->health().acknowledged_bytes, 0u);
  EXPECT_TRUE(talk.a->ack_status().silent_since);
  EXPECT_FALSE(talk.b->ack_status().silent_since);
  link.resume(1);
  net.run_until(net.now() + milliseconds(1));
  EXPECT_GT(talk.a->health().acknowledged_bytes, 3000u);
  EXPECT_FALSE(talk.a->ack_status().owes);
  EXPECT_EQ(talk.a->ack_status().heard_at, net.now() - milliseconds(1));
}

TEST(SimLink, of_two_links_either_stops_a_lane) {
  SimNetwork net(1);
  SimLink &near = net.add_link(steady(1000)), &far = net.add_link(steady(100));
  Talk talk(net, near, far);
  far.silence(0);  // what leaves the far host
  talk.send(1, 1000);
  net.run_until(net.now() + milliseconds(1));
  EXPECT_EQ(talk.at_b.arrived, 1u);
  EXPECT_EQ(talk.a->health().acknowledged_bytes, 0u);
  near.silence(0);
  talk.send(1, 1000);
  net.run_until(net.now() + milliseconds(1));
  EXPECT_EQ(talk.at_b.arrived, 1u);
  near.resume();
  far.resume();
  net.run_until(net.now() + milliseconds(1));
  EXPECT_EQ(talk.at_b.arrived, 2u);
  EXPECT_EQ(talk.a->health().outstanding_bytes, 0u);
  far.cut();
  net.run_until(net.now() + milliseconds(1));
  EXPECT_FALSE(talk.lost_a.ok());
  EXPECT_FALSE(talk.lost_b.ok());
}

TEST(SimLink, an_idle_lane_learns_by_probes_that_its_peer_is_there) {
  SimNetwork net(1);
  SimLink& link = net.add_link(steady(1000));
  Talk talk(net, link);
  const TimePoint made = net.now();
  net.run_until(made + milliseconds(1500));
  EXPECT_EQ(talk.a->ack_status().heard_at, made);  // sends a probe now
  net.run_until(made + milliseconds(1501));
  EXPECT_GT(talk.a->ack_status().heard_at, made + milliseconds(1500));
  link.silence();
  net.run_until(made + milliseconds(5000));
  EXPECT_LT(talk.a->ack_status().heard_at, made + milliseconds(1501));
}

// Bytes held back for a lane that was destroyed meanwhile are discarded, and the sender's lane is reset.
TEST(SimLink, late_backlog_finds_nobody) {
  SimNetwork net(8);
  SimLink& link = net.add_link(steady(1000));
  auto [a, b] = net.connect(link);
  CountingHandler out;
  out.to_send = {100'000};
  link.silence();
  EXPECT_TRUE(a->write(out).ok());
  net.run_until(net.now() + milliseconds(50));
  b.reset();
  link.resume();
  net.run_until(net.now() + milliseconds(50));
  const auto end = a->read(out, 1000);
  EXPECT_EQ(end.status().code(), Code::remote);
  EXPECT_EQ(a->why_ended(), LaneEnd::reset);
}

TEST(SimLink, one_seed_one_run) {
  const auto run = [](std::uint64_t seed) {
    SimNetwork net(seed);
    LinkSpec rough;
    rough.pause_probability = 0.3;
    Talk talk(net, net.add_link(rough));
    talk.send(200, 5000);
    std::vector<std::int64_t> when;
    while (net.step()) when.push_back((net.now() - TimePoint{}).count());
    EXPECT_EQ(talk.at_b.arrived, 200u);
    return when;
  };
  EXPECT_EQ(run(11), run(11));
  EXPECT_NE(run(11), run(12));
}

}  // namespace
}  // namespace railweave::wire
