// What StepLearner changes, and when: the same on every rank.
#include "collectives/scheduler/step_learner.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace railweave::collectives_test {
namespace {

using collectives::Agreement;
using collectives::Change;
using collectives::kCandidates;
using collectives::RepeatFinder;
using collectives::StepLearner;

constexpr std::size_t kOperations = 40;  // of a step
constexpr std::size_t kBytes = 1000;     // of an operation

// One rank's program: operation i of a step is `i`. The rank waits for an operation when `waits_behind` more are
// issued.
struct Learning {
  StepLearner learner;
  std::function<Nanos(std::size_t candidate)> takes = [](std::size_t) { return Nanos(1000); };  // duration of a step
  std::size_t waits_behind = 2;
  std::size_t candidate = 0;  // in force
  TimePoint now{};
  std::vector<std::optional<std::uint64_t>> watched;
  std::vector<std::string> log;  // "STEP+OPERATION: WHAT"
  std::vector<std::shared_ptr<Agreement>> agreements;
  std::optional<Change> last;
  std::size_t issued = 0;

  StepLearner::Issued issue(std::uint64_t what) {
    now += takes(candidate) / std::int64_t(kOperations);
    auto one = learner.issued(what, kBytes, now);
    watched.push_back(one.watched);
    if (watched.size() > waits_behind) {
      const auto due = watched[watched.size() - 1 - waits_behind];
      if (due) learner.awaited(*due);
    }
    if (one.agree) {
      agreements.push_back(one.agree);
      one.agree->over = true;  // no other rank takes part
    }
    if (one.change) {
      last = one.change;
      if (one.change->ready()) candidate = one.change->candidate();
    }
    ++issued;
    return one;
  }
  // Issues `count` steps, and logs agreements and changes.
  void steps(std::size_t count) {
    for (std::size_t step = 0; step < count; ++step) {
      for (std::size_t i = 0; i < kOperations; ++i) {
        const auto one = issue(i);
        const std::string at = std::to_string(step) + (i == 0 ? "" : "+" + std::to_string(i)) + ": ";
        if (one.agree) log.push_back(at + "agree");
        if (one.change) log.push_back(at + std::to_string(one.change->candidate()));
      }
    }
  }
};

// A sequence is found with its 296th operation, the 16th of the first logged step. Learned steps begin there.
std::vector<std::string> expected_log(std::size_t settled) {
  const std::string at = "+16: ";
  return {
      "2" + at + "agree", "3" + at + "0",  "6" + at + "1",      "9" + at + "2",  "12" + at + "0",
      "15" + at + "1",    "18" + at + "2", "21" + at + "agree", "21" + at + "0", "22" + at + std::to_string(settled)};
}

// Returns a rank that is between two steps, 16 operations before its sequence is found.
Learning learned(std::function<Nanos(std::size_t)> takes) {
  Learning one;
  one.takes = std::move(takes);
  for (std::size_t i = 0; i < RepeatFinder::kRepeatLeast + kOperations - 16; ++i) (void)one.issue(i % kOperations);
  return one;
}

TEST(StepLearner, each_candidate__is_tried_twice_and_the_shortest_is_kept) {
  const std::int64_t took[3][3] = {{1000, 2000, 3000}, {2000, 1000, 3000}, {3000, 2000, 1000}};
  for (std::size_t best = 0; best < kCandidates.size(); ++best) {
    Learning one = learned([&](std::size_t candidate) { return Nanos(40 * took[best][candidate]); });
    one.steps(30);
    EXPECT_EQ(one.log, expected_log(best)) << best;
    EXPECT_EQ(one.candidate, best);
  }
}

TEST(StepLearner, what_is_hardly_shorter__is_not_worth_a_window) {
  Learning one = learned([](std::size_t candidate) { return Nanos(candidate == 0 ? 40'000 : 39'840); });
  one.steps(30);
  EXPECT_EQ(one.candidate, 0u);
}

// One of the four measured steps of a candidate.
TEST(StepLearner, one_slow_step__does_not_decide) {
  Learning one = learned([](std::size_t) { return Nanos(40'000); });
  const std::size_t begin = RepeatFinder::kRepeatLeast + kOperations + 8 * kOperations;  // of step 8
  one.takes = [&](std::size_t candidate) {
    const bool slow = one.issued > begin + 4 && one.issued < begin + 24;
    return Nanos(slow ? 400'000 : candidate == 1 ? 30'000 : 40'000);
  };
  one.steps(30);
  EXPECT_EQ(one.candidate, 1u);
}

TEST(StepLearner, leads__are_what_was_issued_until_the_wait) {
  Learning one = learned([](std::size_t candidate) { return Nanos(candidate == 2 ? 20'000 : 40'000); });
  one.waits_behind = 3;
  one.steps(30);
  ASSERT_EQ(one.candidate, 2u);
  for (std::size_t position = 0; position < kOperations; ++position)
    EXPECT_EQ(one.last->lead(position), 3 * kBytes) << position;
}

TEST(StepLearner, what_nobody_waits_for__has_its_classs_lead) {
  Learning one = learned([](std::size_t candidate) { return Nanos(candidate == 2 ? 20'000 : 40'000); });
  one.waits_behind = 1'000'000;
  one.steps(30);
  ASSERT_EQ(one.candidate, 2u);
  EXPECT_FALSE(one.last->lead(0));
}

// The maximum over all ranks counts: the longest time, and the shortest lead, as leads are negated.
TEST(StepLearner, what_the_ranks_agreed_on__decides) {
  Learning one = learned([](std::size_t) { return Nanos(40'000); });
  one.steps(22);
  ASSERT_EQ(one.agreements.size(), 2u);
  one.agreements[1]->values = {500, 400, 300};
  one.agreements[0]->values.assign(kOperations, -7);
  one.steps(1);
  EXPECT_EQ(one.candidate, 2u);
  EXPECT_EQ(one.last->lead(5), 7u);
  EXPECT_EQ(one.last->step_bytes(), kOperations * kBytes);
}

TEST(StepLearner, until_the_ranks_have_agreed__a_change_is_not_ready) {
  Learning one = learned([](std::size_t) { return Nanos(40'000); });
  one.steps(2);
  for (std::size_t i = 0; i < 20; ++i) (void)one.issue(i);
  ASSERT_EQ(one.agreements.size(), 1u);
  one.agreements[0]->over = false;
  for (std::size_t i = 20; i < kOperations + 20; ++i) (void)one.issue(i % kOperations);
  ASSERT_TRUE(one.last);
  EXPECT_FALSE(one.last->ready());
  one.agreements[0]->over = true;
  EXPECT_TRUE(one.last->ready());
}

TEST(StepLearner, another_operation__turns_it_off_at_once) {
  Learning one = learned([](std::size_t candidate) { return Nanos(candidate == 1 ? 20'000 : 40'000); });
  one.steps(30);
  ASSERT_EQ(one.candidate, 1u);
  const auto broken = one.issue(12345);
  ASSERT_TRUE(broken.change);
  EXPECT_EQ(broken.change->candidate(), 0u);
  EXPECT_EQ(broken.change->step_bytes(), 0u);
  EXPECT_FALSE(broken.position);
}

// The sequence may be found again in any phase: leads stay with their operations.
TEST(StepLearner, a_sequence_that_comes_back__is_known) {
  for (const std::size_t evaluation : {1u, 7u, 100u}) {
    Learning one = learned([](std::size_t candidate) { return Nanos(candidate == 2 ? 20'000 : 40'000); });
    one.steps(30);
    ASSERT_EQ(one.candidate, 2u);
    one.agreements[0]->values.clear();
    for (std::size_t i = 0; i < kOperations; ++i)
      one.agreements[0]->values.push_back(-std::int64_t((i + 16) % kOperations));
    const std::size_t agreed = one.agreements.size();
    for (std::size_t i = 0; i < evaluation; ++i) (void)one.issue(1000 + i);
    EXPECT_EQ(one.candidate, 0u);
    one.log.clear();
    one.steps(12);
    EXPECT_EQ(one.candidate, 2u);
    EXPECT_EQ(one.agreements.size(), agreed);
    const auto first = one.issue(0);
    ASSERT_TRUE(first.position);
    EXPECT_EQ(one.last->lead(*first.position), 0u);
    const auto second = one.issue(1);
    ASSERT_TRUE(second.position);
    EXPECT_EQ(one.last->lead(*second.position), 1u);
  }
}

// Two ranks of one program make the same changes at the same operations, though their clocks and waits differ.
TEST(StepLearner, ranks__change_at_the_same_operations) {
  Learning a = learned([](std::size_t candidate) { return Nanos(candidate == 1 ? 20'000 : 40'000); });
  Learning b = learned([](std::size_t) { return Nanos(70'000); });
  b.waits_behind = 9;
  a.steps(22);
  b.steps(22);
  for (std::size_t i = 0; i < a.agreements.size(); ++i) {
    auto& ours = a.agreements[i]->values;
    auto& theirs = b.agreements[i]->values;
    for (std::size_t v = 0; v < ours.size(); ++v) ours[v] = theirs[v] = std::max(ours[v], theirs[v]);
  }
  a.steps(8);
  b.steps(8);
  EXPECT_EQ(a.log, b.log);
  EXPECT_EQ(a.candidate, b.candidate);
}

TEST(Candidates, names_parse_to_the_windows_they_stand_for) {
  EXPECT_EQ(collectives::parse_policy(collectives::kCandidateNames[0])->window, kCandidates[0].window);
  EXPECT_EQ(collectives::parse_policy(collectives::kCandidateNames[1])->window, kCandidates[1].window);
}

}  // namespace
}  // namespace railweave::collectives_test
