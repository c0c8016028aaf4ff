// What a group tells of operations that hang, and of its failure.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "collectives/group/group.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using collectives::DataType;
using collectives::Group;
using collectives::Reduction;
using collectives::UnfinishedCall;

// Returns true once `over` does, within twenty seconds.
template <class Over>
bool soon(Over over) {
  for (const TimePoint end = now() + Nanos(20s); now() < end; std::this_thread::sleep_for(1ms))
    if (over()) return true;
  return over();
}

class Unfinished : public testing::TestWithParam<bool> {
 protected:
  // Calls rank's all_reduce of `count` floats.
  collectives::WorkPtr sum(int rank, std::size_t count) {
    std::vector<float>& values = values_[std::size_t(rank)];
    values.assign(count, 1);
    return ranks_.group(rank).all_reduce(values.data(), values.data(), count, DataType::float32, Reduction::sum);
  }

  std::array<std::vector<float>, 3> values_;  // outlives unfinished operations
  Ranks ranks_{3, "test", GetParam()};
};
INSTANTIATE_TEST_SUITE_P(SharedMemory, Unfinished, testing::Bool());

TEST_P(Unfinished, a_call_names_the_rank_that_did_not_come) {
  const auto first = sum(0, 5), second = sum(1, 5);
  std::vector<UnfinishedCall> calls;
  EXPECT_TRUE(soon([&] {
    first->test();
    second->test();
    calls = ranks_.group(0).unfinished();
    return calls.size() == 1 && calls[0].started && calls[0].awaited == std::vector<int>{2};
  }));
  ASSERT_EQ(1u, calls.size());
  EXPECT_EQ(first.get(), calls[0].work);
  EXPECT_EQ("all_reduce of float32 (sum)", calls[0].call);
  ASSERT_EQ(1u, ranks_.group(1).unfinished().size());
  EXPECT_EQ(calls[0].counts, ranks_.group(1).unfinished()[0].counts);
  for (const auto& work : {sum(2, 5), first, second}) EXPECT_EQ("ok", outcome(work));
  EXPECT_TRUE(ranks_.group(0).unfinished().empty());
}

TEST_P(Unfinished, calls_with_other_counts_differ) {
  const auto first = sum(0, 5);
  const auto before = ranks_.group(0).unfinished();
  const auto second = sum(1, 6);
  const auto other = ranks_.group(1).unfinished();
  ASSERT_TRUE(before.size() == 1 && other.size() == 1);
  EXPECT_EQ(before[0].call, other[0].call);
  EXPECT_NE(before[0].counts, other[0].counts);
}

TEST_P(Unfinished, a_report_of_failure_comes_before_the_end) {
  Group& group = ranks_.group(0);
  collectives::WorkPtr work;
  std::promise<std::string> reported;
  std::atomic<bool> ended_before{false};
  group.when_failing([&](const Status& why) {
    std::this_thread::sleep_for(100ms);  // the group could end meanwhile
    ended_before = !work->status().ok();
    reported.set_value(why.message());
  });
  work = sum(0, 5);
  ranks_.leave(2);
  ranks_.leave(1);
  EXPECT_NE("ok", outcome(work));
  auto report = reported.get_future();
  ASSERT_EQ(std::future_status::ready, report.wait_for(20s));
  EXPECT_NE(std::string::npos, report.get().find("is lost"));
  EXPECT_FALSE(ended_before);
  ASSERT_EQ(1u, group.unfinished().size());  // as it was when the group failed
  EXPECT_EQ(work.get(), group.unfinished()[0].work);
}

TEST_P(Unfinished, a_report_that_throws_does_not_delay_the_end) {
  std::promise<TimePoint> reported;
  ranks_.group(0).when_failing([&](const Status&) {
    reported.set_value(now());
    throw std::runtime_error("for a test");
  });
  const auto work = sum(0, 5);
  ranks_.leave(2);
  ranks_.leave(1);
  EXPECT_NE("ok", outcome(work));
  auto report = reported.get_future();
  ASSERT_EQ(std::future_status::ready, report.wait_for(20s));
  EXPECT_LT(now() - report.get(), Nanos(4s));  // five seconds end a report that does not return
}

TEST_P(Unfinished, an_abort_makes_no_report_here_but_elsewhere) {
  std::promise<void> reported;
  std::atomic<bool> here{false};
  ranks_.group(0).when_failing([&](const Status&) { here = true; });
  ranks_.group(1).when_failing([&](const Status&) { reported.set_value(); });
  ranks_.group(0).abort("for a test");
  auto report = reported.get_future();
  EXPECT_EQ(std::future_status::timeout, report.wait_for(0s));
  ranks_.group(1).ask_others();  // nothing is unfinished there, so the group asks only now
  EXPECT_EQ(std::future_status::ready, report.wait_for(20s));
  EXPECT_FALSE(here);
}

TEST_P(Unfinished, asking_others_ends_nothing_while_all_is_well) {
  for (int i = 0; i < 20; ++i) ranks_.group(0).ask_others();
  ranks_.run([this](int rank, Group& group) {
    group.ask_others();
    EXPECT_EQ("ok", outcome(sum(rank, 3)));
    EXPECT_EQ(3, values_[std::size_t(rank)][0]);
  });
}

}  // namespace
}  // namespace railweave::collectives_test
