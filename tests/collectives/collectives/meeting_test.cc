// What ranks that meet, or have met, hear of each other's losses.
#include "collectives/meeting.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using collectives::MeetingPlace;

// Ranks 0 and 1 of two, who found each other and have begun.
class Meeting : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto come = [](MeetingPlace& place) {
      EXPECT_TRUE(place.exchange("rank", "the first time").ok());
      EXPECT_TRUE(place.begin().ok());
    };
    std::thread other([&] { come(one_); });
    come(zero_);
    other.join();
  }
  MeetingPlace place(int rank) {
    return MeetingPlace(std::move(*collectives::file_store(folder_.path())), {"meeting", rank, 2, 20s});
  }

  const Folder folder_;
  MeetingPlace zero_ = place(0), one_ = place(1);
};

const Status kLoss(Code::remote, Scope::session, "rank 1 is lost: no answer");

TEST_F(Meeting, a_loss_that_another_saw__is_told_as_what_that_rank_reports) {
  EXPECT_EQ(zero_.blame(kLoss), "rank 1 is lost: no answer");
  EXPECT_EQ(one_.blame(Status(Code::remote, Scope::session, "rank 0 is lost: refused")), "rank 0 reports: rank 1 is lost: no answer");
}

TEST_F(Meeting, a_rank_that_speaks_of_itself__is_named_once) {
  zero_.blame(Status(Code::cancelled, Scope::engine, "rank 0 gave up: enough"));
  EXPECT_EQ(one_.blamed(), "rank 0 gave up: enough");
}

TEST_F(Meeting, who_waits_for_rank_0__hears_why_it_gave_up) {
  std::thread other([&] {
    std::this_thread::sleep_for(100ms);
    zero_.blame(kLoss);
    zero_.tidy_up();
  });
  const TimePoint start = now();
  const auto told = one_.agree("what", "");
  EXPECT_EQ(told.status().message(), "group 'meeting': rank 0 reports: rank 1 is lost: no answer");
  EXPECT_LT(now() - start, 10s);
  other.join();
}

TEST_F(Meeting, rank_0_leaves_a_failed_one__when_the_other_has_left) {
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

TEST_F(Meeting, a_rank_that_tries_again_at_once__has_left) {
  one_.tidy_up();
  MeetingPlace again = place(1);
  std::thread second([&] { EXPECT_TRUE(again.exchange("rank", "the second time").ok()) << "with rank 0's second, or its first"; });
  std::this_thread::sleep_for(100ms);
  const TimePoint start = now();
  zero_.give_up(kLoss);
  EXPECT_LT(now() - start, 1s);
  second.join();
}

TEST_F(Meeting, a_rank_that_never_leaves__holds_up_rank_0_for_a_while) {
  const TimePoint start = now();
  zero_.give_up(kLoss);
  EXPECT_GE(now() - start, 1s);
  EXPECT_LT(now() - start, 10s);
}

TEST_F(Meeting, why_a_rank_gave_up__is_told_by_any) {
  one_.give_up(Status(Code::invalid_config, Scope::engine, "RAILWEAVE_ALGO: nonsense"));
  EXPECT_EQ(zero_.blamed(), "rank 1 reports: RAILWEAVE_ALGO: nonsense");
}

TEST_F(Meeting, what_was_said_of_an_earlier_one__is_not_heard_by_who_has_not_begun) {
  zero_.blame(kLoss);
  EXPECT_EQ(place(1).blamed(), "");
}

}  // namespace
}  // namespace railweave::collectives_test
