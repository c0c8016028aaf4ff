// WireHistory: which wires are left out, and which are worth another try.
#include "engine/rails/wire_history.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

constexpr InstanceId kPeer{7}, kOther{8};
constexpr TimePoint kNow{1h};

TEST(WireHistory, a_failure_is_forgotten_after_a_minute) {
  WireHistory history;
  history.note_failure(kNow, 0, kPeer, "fast", "torn");
  EXPECT_EQ(history.why_left_out(0, kPeer, "fast"), "torn");
  EXPECT_TRUE(history.is_left_out(kNow + 59s, 0, kPeer, "fast"));
  EXPECT_FALSE(history.is_left_out(kNow + 60s, 0, kPeer, "fast"));
  EXPECT_FALSE(history.is_left_out(kNow, 1, kPeer, "fast"));
  EXPECT_FALSE(history.is_left_out(kNow, 0, kOther, "fast"));
  EXPECT_FALSE(history.is_left_out(kNow, 0, kPeer, "plain"));
  EXPECT_FALSE(history.has_brought_lanes(kPeer, "fast"));
}

TEST(WireHistory, a_lane_makes_up_for_a_failure) {
  WireHistory history;
  history.note_failure(kNow, 0, kPeer, "fast", "torn");
  history.note_lane(kNow + 1s, 0, kPeer, "fast");
  EXPECT_FALSE(history.is_left_out(kNow + 1s, 0, kPeer, "fast"));
  EXPECT_TRUE(history.has_brought_lanes(kPeer, "fast"));
  EXPECT_FALSE(history.has_brought_lanes(kOther, "fast"));
  EXPECT_FALSE(history.has_brought_lanes(kPeer, "plain"));
  history.note_failure(kNow + 2s, 0, kPeer, "fast", "torn");
  EXPECT_TRUE(history.is_left_out(kNow + 2s, 0, kPeer, "fast"));
  EXPECT_TRUE(history.has_brought_lanes(kPeer, "fast"));
}

TEST(WireHistory, the_oldest_goes_where_there_are_too_many) {
  WireHistory history;
  for (int rail = 0; rail <= int(WireHistory::kEntriesMax); ++rail)
    history.note_failure(kNow + Nanos(rail), rail, kPeer, "fast", "torn");
  EXPECT_FALSE(history.is_left_out(kNow + 5us, 0, kPeer, "fast"));
  EXPECT_TRUE(history.is_left_out(kNow + 5us, 1, kPeer, "fast"));
}

}  // namespace
}  // namespace railweave::engine
