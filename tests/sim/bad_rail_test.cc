// A rail that accepts connections and loses the data that follows, beside rails that work.
#include <gtest/gtest.h>

#include "tests/sim/world.h"

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;

constexpr int kFlows = 4;
constexpr Nanos kSpeakEvery = 20ms;

class BadRailWorld : public World {
 public:
  explicit BadRailWorld(int rails) : World(1, false) {
    weather_ = {.lanes_die = true,
                .ends_sleep = false,
                .rude = false,
                .refusals = false,
                .mortal = false,
                .spared = true,
                .lasting = false};
    peer_timeout_ = 5s;
    for (const char* name : {"near", "far"}) {
      Host& host = add_host(name);
      for (int rail = 0; rail < rails; ++rail) add_rail(host, rail == 0);
    }
    make_couple(hosts_[0], hosts_[1]);
    flows_most_ = kFlows;
    for (int i = 0; i < kFlows; ++i) make_flow();
  }

  // Posts on all flows for `time`. Returns how many lanes were dialled meanwhile.
  int live(Nanos time) {
    const int before = couples_[0].keeping->lanes_dialled();
    for (const TimePoint end = net_.now() + time; net_.now() < end && failure_.empty();) {
      for (const auto& flow : flows_) flow->post_receive(), flow->post_send();
      run_for(kSpeakEvery);
    }
    return couples_[0].keeping->lanes_dialled() - before;
  }
  void let_data_be_lost(bool lost) { hosts_[1].rails[1].link->lose_data(lost); }
  // The near host's open lanes to rail 1 of the far host, and those between rails of different index.
  std::size_t lanes_of_it() const {
    return count([](const SessionEnd::OpenLane& lane) { return lane.rails.remote == 1; });
  }
  std::size_t stand_ins() const {
    return count([](const SessionEnd::OpenLane& lane) { return lane.rails.remote != lane.rails.local; });
  }
  std::string end() {
    if (failure_.empty()) settle();
    if (failure_.empty()) end_all();
    return verdict();
  }

 private:
  template <class Which>
  std::size_t count(Which which) const {
    return std::size_t(std::ranges::count_if(couples_[0].a->open_lanes(), which));
  }
};

class BadRail : public testing::TestWithParam<int> {};

TEST_P(BadRail, few_lanes_come_up_over_it_and_all_return_when_it_is_well) {
  BadRailWorld world(GetParam());
  world.live(15s);
  ASSERT_GT(world.lanes_of_it(), 0u);
  world.let_data_be_lost(true);
  EXPECT_LE(world.live(60s), 20);
  EXPECT_LE(world.live(60s), 6);
  world.let_data_be_lost(false);
  world.live(60s);
  EXPECT_GT(world.lanes_of_it(), 0u);
  EXPECT_EQ(world.stand_ins(), 0u) << "they retired";
  EXPECT_EQ(world.end(), "");
}

INSTANTIATE_TEST_SUITE_P(Rails, BadRail, testing::Values(2, 4, 8));

}  // namespace
}  // namespace railweave::sim
