// What ranks that meet, or have met, learn of each other's failures.
#include "collectives/rendezvous/rendezvous.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using collectives::Rendezvous;

// Both ranks of a group of two. They have found each other and have called begin().
class RendezvousTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto come = [](Rendezvous& place) {
      EXPECT_TRUE(place.publish_and_collect("rank", "the first time").ok());
      EXPECT_TRUE(place.begin().ok());
    };
    std::thread other([&] { come(one_); });
    come(zero_);
    other.join();
  }
  Rendezvous place(int rank) {
    return Rendezvous(std::move(*collectives::file_store(folder_.path())), {"meeting", rank, 2, 20s});
  }

  const Folder folder_;
  Rendezvous zero_ = place(0), one_ = place(1);
};

const Status kLoss(Code::remote, Scope::session, "rank 1 is lost: no answer");

TEST_F(RendezvousTest, report_failure__names_the_rank_that_reported_first) {
  EXPECT_EQ(zero_.report_failure(kLoss), "rank 1 is lost: no answer");
  EXPECT_EQ(one_.report_failure(Status(Code::remote, Scope::session, "rank 0 is lost: refused")),
            "rank 0 reports: rank 1 is lost: no answer");
}

TEST_F(RendezvousTest, a_rank_that_reports_itself_is_named_once) {
  zero_.report_failure(Status(Code::cancelled, Scope::engine, "rank 0 gave up: enough"));
  EXPECT_EQ(one_.first_failure(), "rank 0 gave up: enough");
}

TEST_F(RendezvousTest, agree__returns_why_rank_0_gave_up) {
  std::thread other([&] {
    std::this_thread::sleep_for(100ms);
    zero_.report_failure(kLoss);
    zero_.tidy_up();
  });
  const TimePoint start = now();
  const auto agreed = one_.agree("what", "");
  EXPECT_EQ(agreed.status().message(), "group 'meeting': rank 0 reports: rank 1 is lost: no answer");
  EXPECT_LT(now() - start, 10s);
  other.join();
}

TEST_F(RendezvousTest, give_up__rank_0_waits_until_the_other_has_left) {
  ASSERT_TRUE(zero_.agree("what", "this").ok());
  std::thread slow([&] {
    std::this_thread::sleep_for(100ms);
    EXPECT_TRUE(one_.agree("what", "").ok());
    EXPECT_EQ(one_.given_up().message(), "group 'meeting': rank 0 reports: rank 1 is lost: no answer");
    one_.tidy_up();
  });
  zero_.give_up(kLoss);
  slow.join();
}

TEST_F(RendezvousTest, a_rank_that_tries_again_at_once__has_left) {
  one_.tidy_up();
  Rendezvous again = place(1);
  std::thread second([&] {
    EXPECT_TRUE(again.publish_and_collect("rank", "the second time").ok()) << "with rank 0's second, or its first";
  });
  std::this_thread::sleep_for(100ms);
  const TimePoint start = now();
  zero_.give_up(kLoss);
  EXPECT_LT(now() - start, 1s);
  second.join();
}

TEST_F(RendezvousTest, a_rank_that_never_leaves__holds_up_rank_0_for_a_while) {
  const TimePoint start = now();
  zero_.give_up(kLoss);
  EXPECT_GE(now() - start, 1s);
  EXPECT_LT(now() - start, 10s);
}

TEST_F(RendezvousTest, first_failure__is_why_any_rank_gave_up) {
  one_.give_up(Status(Code::invalid_config, Scope::engine, "RAILWEAVE_ALGO: nonsense"));
  EXPECT_EQ(zero_.first_failure(), "rank 1 reports: RAILWEAVE_ALGO: nonsense");
}

// Rank 1 of three has all that rank 2 published, and fails before rank 2 has read what rank 1 published.
TEST_F(RendezvousTest, publish_and_collect__returns_why_a_begun_rank_gave_up) {
  const auto of_three = [&](int rank) {
    return Rendezvous(std::move(*collectives::file_store(folder_.path())), {"three", rank, 3, 20s});
  };
  Rendezvous first = of_three(0), second = of_three(1), behind = of_three(2);
  const auto store = std::move(*collectives::file_store(folder_.path()));
  ASSERT_TRUE(store->set("three/rank/2", "3 there").ok());
  std::thread other([&] {
    EXPECT_TRUE(first.publish_and_collect("rank", "there").ok());
    EXPECT_TRUE(first.begin().ok());
  });
  ASSERT_TRUE(second.publish_and_collect("rank", "there").ok());
  ASSERT_TRUE(second.begin().ok());
  other.join();
  second.give_up(kLoss);
  const TimePoint start = now();
  const Status heard = behind.publish_and_collect("rank", "there").status();
  EXPECT_EQ(heard.message(), "group 'three': rank 1 is lost: no answer");
  EXPECT_EQ(heard.code(), Code::remote);
  EXPECT_LT(now() - start, 10s);
}

TEST_F(RendezvousTest, a_second_try_sees_nothing_of_the_first) {
  one_.give_up(kLoss);
  zero_.give_up(kLoss);
  Rendezvous zero = place(0), one = place(1);
  std::thread other([&] {
    EXPECT_TRUE(one.arrive().ok());
    EXPECT_TRUE(one.publish_and_collect("rank", "again").ok());
  });
  EXPECT_TRUE(zero.arrive().ok());
  EXPECT_TRUE(zero.publish_and_collect("rank", "again").ok());
  other.join();
}

TEST_F(RendezvousTest, a_rank_that_came_but_is_silent_is_not_called_missing) {
  Rendezvous zero(std::move(*collectives::file_store(folder_.path())), {"short", 0, 2, 300ms});
  Rendezvous one(std::move(*collectives::file_store(folder_.path())), {"short", 1, 2, 20s});
  std::thread other([&] { EXPECT_TRUE(one.publish_and_collect("rank", "there").ok()); });
  ASSERT_TRUE(zero.publish_and_collect("rank", "there").ok());
  other.join();
  EXPECT_EQ(zero.publish_and_collect("host", "0").status().message(),
            "group 'short' of 2 ranks: rank 1 came (or left its keys when it was killed), "
            "but did not publish 'host' within 0.3 s");
}

TEST_F(RendezvousTest, first_failure__ignores_an_earlier_group_before_begin) {
  zero_.report_failure(kLoss);
  EXPECT_EQ(place(1).first_failure(), "");
}

}  // namespace
}  // namespace railweave::collectives_test
