#include "engine/health/carrying_pairs.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kHeardAt{1h};
constexpr RailPair kOnePair{0, 0}, kOtherPair{1, 1};

Status denial(const char* what = "gone") { return Status(Code::remote, Scope::session, what); }

class CarryingPairsTest : public testing::Test {
 protected:
  CarryingPairsTest() {
    for (const RailPair& rails : {kOnePair, kOtherPair}) pairs_.carries(rails);
    pairs_.heard(kHeardAt);
  }
  CarryingPairs pairs_;
};

TEST_F(CarryingPairsTest, all__pairs_that_ever_carried_are_known_once) {
  pairs_.note_lost(kHeardAt, {kOtherPair});
  pairs_.carries(kOnePair);
  EXPECT_EQ(pairs_.all(), (std::vector<RailPair>{kOnePair, kOtherPair}));
}

TEST_F(CarryingPairsTest, a_pair_that_never_carried_does_not_speak_for_the_peer) {
  EXPECT_FALSE(pairs_.speaks_for_peer({0, 1}));
}

TEST_F(CarryingPairsTest, a_pair_speaks_for_the_peer_until_another_outlives_it) {
  EXPECT_TRUE(pairs_.speaks_for_peer(kOnePair));
  pairs_.note_lost(kHeardAt, {kOtherPair});
  EXPECT_TRUE(pairs_.speaks_for_peer(kOnePair));
  pairs_.heard(kHeardAt + 200ms);
  EXPECT_TRUE(pairs_.speaks_for_peer(kOnePair)) << "they may have been lost together";
  pairs_.heard(kHeardAt + 201ms);
  EXPECT_FALSE(pairs_.speaks_for_peer(kOnePair)) << "the other is heard since";
  pairs_.heard(kHeardAt);
  EXPECT_FALSE(pairs_.speaks_for_peer(kOnePair)) << "old news";
  EXPECT_TRUE(pairs_.speaks_for_peer(kOtherPair));
  pairs_.carries(kOnePair);
  EXPECT_TRUE(pairs_.speaks_for_peer(kOnePair));
}

TEST_F(CarryingPairsTest, the_peer_is_there_while_no_pair_was_denied) {
  EXPECT_TRUE(pairs_.verdict(kHeardAt + 1h).ok());
}

TEST_F(CarryingPairsTest, verdict__all_pairs_that_speak_for_the_peer_must_be_denied) {
  pairs_.note_lost(kHeardAt, {});
  pairs_.denied(kHeardAt, kOnePair, denial("first"));
  EXPECT_TRUE(pairs_.verdict(kHeardAt).ok());
  pairs_.denied(kHeardAt + 1ms, kOtherPair, denial("second"));
  EXPECT_EQ(pairs_.verdict(kHeardAt + 1ms).message(), "first");
}

TEST_F(CarryingPairsTest, a_pair_that_was_lost_before_need_not_be_denied) {
  pairs_.note_lost(kHeardAt, {kOnePair});
  pairs_.heard(kHeardAt + 1s);
  pairs_.denied(kHeardAt + 1s, kOnePair, denial());
  EXPECT_FALSE(pairs_.verdict(kHeardAt + 1s).ok());
}

TEST_F(CarryingPairsTest, others_have_two_and_a_half_seconds_from_the_first_denial) {
  pairs_.denied(kHeardAt, kOnePair, denial());
  pairs_.denied(kHeardAt + 1s, kOnePair, denial());
  EXPECT_TRUE(pairs_.verdict(kHeardAt + 2499ms).ok());
  EXPECT_FALSE(pairs_.verdict(kHeardAt + 2500ms).ok());
}

TEST_F(CarryingPairsTest, a_denial_that_may_be_a_firewalls_ends_nothing_by_itself) {
  pairs_.denied(kHeardAt, kOnePair, {});
  EXPECT_TRUE(pairs_.verdict(kHeardAt + 3s).ok());
  pairs_.denied(kHeardAt + 3s, kOtherPair, denial());
  EXPECT_FALSE(pairs_.verdict(kHeardAt + 3s).ok());
}

TEST_F(CarryingPairsTest, denials_are_forgotten_together) {
  pairs_.denied(kHeardAt, kOnePair, denial());
  pairs_.forget_denials();
  EXPECT_TRUE(pairs_.verdict(kHeardAt + 3s).ok());
  pairs_.denied(kHeardAt + 3s, kOtherPair, denial());
  EXPECT_TRUE(pairs_.verdict(kHeardAt + 3s).ok());
}

}  // namespace
}  // namespace railweave::engine
