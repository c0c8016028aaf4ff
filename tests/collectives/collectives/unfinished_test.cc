// What a group tells of operations that hang, and of its failure.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>

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

collectives::WorkPtr sum(Group& group, std::vector<float>& values) {
  return group.all_reduce(values.data(), values.data(), values.size(), DataType::float32, Reduction::sum);
}

class Unfinished : public testing::TestWithParam<bool> {
 protected:
  Ranks ranks_{3, "test", GetParam()};
};
INSTANTIATE_TEST_SUITE_P(SharedMemory, Unfinished, testing::Bool());

TEST_P(Unfinished, a_call_names_the_rank_that_did_not_come) {
  std::vector<float> mine(5), theirs(5);
  const auto first = sum(ranks_.group(0), mine), second = sum(ranks_.group(1), theirs);
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
  std::vector<float> late(5);
  EXPECT_EQ("ok", outcome(sum(ranks_.group(2), late)));
  EXPECT_EQ("ok", outcome(first));
  EXPECT_TRUE(ranks_.group(0).unfinished().empty());
}

TEST_P(Unfinished, calls_with_other_counts_differ) {
  std::vector<float> five(5), six(6);
  const auto first = sum(ranks_.group(0), five);
  const auto before = ranks_.group(0).unfinished();
  const auto second = sum(ranks_.group(1), six);
  const auto other = ranks_.group(1).unfinished();
  ASSERT_TRUE(before.size() == 1 && other.size() == 1);
  EXPECT_EQ(before[0].call, other[0].call);
  EXPECT_NE(before[0].counts, other[0].counts);
}

TEST_P(Unfinished, a_report_of_failure_comes_before_the_end) {
  Group& group = ranks_.group(0);
  std::vector<float> values(5);
  collectives::WorkPtr work;
  std::promise<std::string> reported;
  std::atomic<bool> ended_before{false};
  group.when_failing([&](const Status& why) {
    std::this_thread::sleep_for(100ms);  // the group could end meanwhile
    ended_before = !work->status().ok();
    reported.set_value(why.message());
  });
  work = sum(group, values);
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
  ranks_.run([](int, Group& group) {
    group.ask_others();
    std::vector<float> values(3, 1);
    EXPECT_EQ("ok", outcome(sum(group, values)));
    EXPECT_EQ(3, values[0]);
  });
}

}  // namespace
}  // namespace railweave::collectives_test
