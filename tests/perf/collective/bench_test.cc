// Runs rows on a fake group, with right and wrong results, failures and timeouts.
#include "collective/bench.h"

#include <gtest/gtest.h>

#include <thread>
#include <tuple>

#include "collective/rank.h"
#include "fake_group.h"

namespace railweave::perf::collective {
namespace {

// Calls `body` on all ranks at once. Returns rank 0's result.
template <class Result>
Result on_each(FakeWorld& world, const std::function<Result(Group&)>& body) {
  std::vector<std::thread> others;
  for (int rank = 1; rank < world.size(); ++rank) {
    others.emplace_back([&, rank] { std::ignore = body(*fake_group(world, rank)); });
  }
  Result mine = body(*fake_group(world, 0));
  for (auto& other : others) other.join();
  return mine;
}

Options quick() {
  Options options;
  options.min_bytes = options.max_bytes = 64 << 10;
  options.iterations = 3;
  return options;
}

TEST(Bench, right_results_have_no_wrong_elements) {
  FakeWorld world(3);
  auto summary =
      on_each<Result<Summary>>(world, [](Group& group) { return run_rows(all_reduce(), quick(), group, nullptr); });
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->failures, 0);
  EXPECT_TRUE(summary->good());
  EXPECT_GT(summary->mean_busbw, 0);
}

TEST(Bench, wrong_elements_are_counted_over_ranks_and_fail) {
  FakeWorld world(3);
  world.spoils = true;
  Options options = quick();
  options.warmup = 0;
  std::int64_t failures = 0;
  auto measured = on_each<Result<Measured>>(world, [&](Group& group) -> Result<Measured> {
    auto bench = Bench::create(all_reduce(), options, group);
    if (!bench.ok()) return bench.status();
    std::int64_t here = 0;
    auto found = bench->measure({DataType::float32, Reduction::sum, 0, 64 << 10}, false, here);
    if (group.rank() == 0) failures = here;
    return found;
  });
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  EXPECT_EQ(*measured->wrong, 5);  // the checked all-reduce is the fifth: one is untimed, three are timed
  EXPECT_EQ(failures, 1);
}

TEST(Bench, algorithm_bandwidth_counts_ranks_as_the_reference_does) {
  FakeWorld world(2);
  auto measured = on_each<Result<Measured>>(world, [](Group& group) -> Result<Measured> {
    const Options options = quick();
    auto bench = Bench::create(all_gather(), options, group);
    if (!bench.ok()) return bench.status();
    std::int64_t failures = 0;
    return bench->measure({DataType::float32, Reduction::sum, 0, 64 << 10}, true, failures);
  });
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  EXPECT_EQ(*measured->wrong, 0);
  EXPECT_NEAR(measured->algbw, double(64 << 10) / measured->time_us / 1e3, measured->algbw * 1e-9);
  EXPECT_DOUBLE_EQ(measured->busbw, measured->algbw / 2);
}

TEST(Bench, an_operation_that_fails_ends_the_run) {
  FakeWorld world(2);
  auto summary =
      on_each<Result<Summary>>(world, [](Group& group) { return run_rows(broadcast(), quick(), group, nullptr); });
  ASSERT_FALSE(summary.ok());
  EXPECT_NE(summary.status().message().find("no such operation"), std::string::npos);
}

TEST(Bench, a_timeout_is_the_one_that_was_asked_for) {
  FakeWorld world(1);
  Options options = quick();
  options.timeout_s = 7;
  const auto run = [&](Group& group) { return run_rows(all_reduce(), options, group, nullptr); };
  world.instead = work_stuck();
  const auto stuck = on_each<Result<Summary>>(world, run);
  ASSERT_FALSE(stuck.ok());
  EXPECT_EQ(stuck.status().message(), "Test timeout (7s): aborted");
  EXPECT_TRUE(world.instead->test()) << "it must not go on in memory that goes away";

  options.timeout_s = 0;
  world.instead = work_over(Status(Code::timed_out, Scope::session, "rank 1 was silent for 30 s"));
  const auto lost = on_each<Result<Summary>>(world, run);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.status().message(), "rank 1 was silent for 30 s");
}

}  // namespace
}  // namespace railweave::perf::collective
