// Rail updates within a session: each update arrives once, and the highest edition of a rail stands.
#include "protocol/rail_updates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "pair.h"

namespace railweave::protocol {
namespace {

// Returns the updates that arrived since the last call, such as "2:1:ten" for rail 2, edition 1.
std::string heard(SessionProtocol& session) {
  std::string text;
  for (const RailUpdates::Statement& news : session.drain_rail_updates())
    text +=
        (text.empty() ? "" : " ") + std::to_string(news.rail) + ":" + std::to_string(news.edition) + ":" + news.bytes;
  return text;
}

class RailUpdatesTest : public testing::Test {
 protected:
  RailUpdatesTest() { pair_.add_lanes(2); }
  std::ptrdiff_t written() { return std::ranges::count(pair_.written(End::a), FrameType::rails, &FrameHeader::type); }
  Pair pair_;
};

TEST_F(RailUpdatesTest, updates_arrive_with_an_event) {
  pair_.a().announce_rail({2, 1, "ten"});
  pair_.a().announce_rail({3, 1, std::string(kControlPayloadBytesMax, 'x')});
  EXPECT_TRUE(pair_.a().has_control());
  pair_.run();
  ASSERT_FALSE(pair_.events(End::b).empty());
  EXPECT_EQ(pair_.events(End::b).back().kind, Event::Kind::rails_announced);
  EXPECT_EQ(heard(pair_.b()), "2:1:ten 3:1:" + std::string(kControlPayloadBytesMax, 'x'));
  EXPECT_EQ(heard(pair_.b()), "");
  EXPECT_EQ(written(), 2);
}

TEST_F(RailUpdatesTest, an_older_edition_says_nothing) {
  pair_.a().announce_rail({2, 1, "old"});
  pair_.take(End::a, 0);  // the payload of the taken frame must stay valid
  pair_.a().announce_rail({2, 2, "new"});
  pair_.a().announce_rail({2, 1, "late"});
  pair_.send(End::a, 1);
  pair_.receive(End::b, 1);
  pair_.write(End::a, 0);
  pair_.receive(End::b, 0);
  EXPECT_EQ(heard(pair_.b()), "2:2:new");
  pair_.run();
  EXPECT_EQ(written(), 2);
}

TEST_F(RailUpdatesTest, what_was_lost_with_its_lane_goes_again) {
  pair_.a().announce_rail({2, 1, "ten"});
  ASSERT_GT(pair_.send(End::a, 0), 0u);
  pair_.lose_both(0);
  pair_.run();
  EXPECT_EQ(heard(pair_.b()), "2:1:ten");
}

TEST_F(RailUpdatesTest, what_is_outdated_by_then_is_not_sent_again) {
  pair_.a().announce_rail({2, 1, "old"});
  ASSERT_GT(pair_.send(End::a, 0), 0u);
  pair_.lose_both(0);
  pair_.a().announce_rail({2, 2, "new"});
  pair_.run();
  EXPECT_EQ(heard(pair_.b()), "2:2:new");
  EXPECT_EQ(written(), 2);
}

}  // namespace
}  // namespace railweave::protocol
