#include "explain/verdict.h"

#include <gtest/gtest.h>

#include "explain/dump_reader.h"
#include "made_dumps.h"

namespace railweave::explain {
namespace {

using Ranks = std::vector<std::uint64_t>;

void expect(Cause cause, const Ranks& culprits, std::vector<Dump> dumps) {
  const Job job = made_job(std::move(dumps));
  const Verdict verdict = judge(job);
  EXPECT_EQ(name(cause), name(verdict.cause));
  EXPECT_EQ(culprits, verdict.culprits);
}

Operation receive(int from) {
  Operation operation = made_call(0, 3, {std::size_t(from)});
  operation.is_message = true;
  operation.name = "recv";
  operation.peer = from;
  operation.call = "";
  return operation;
}

TEST(Verdict, names_a_rank_without_a_dump_by_way_of_others) {
  expect(Cause::silent, {2},
         {made_dump(0, 4, 3, {made_call(0, 3, {3})}), made_dump(1, 4, 3, {made_call(0, 3, {0})}),
          made_dump(3, 4, 3, {made_call(0, 3, {2})})});
}

TEST(Verdict, takes_a_rank_for_lost_if_others_failed_at_once) {
  std::vector<Dump> dumps = {made_dump(0, 2, 3, {made_call(0, 3, {1})})};
  dumps[0].reason = "failed";
  expect(Cause::lost, {1}, dumps);
}

TEST(Verdict, names_missing_ranks_though_no_operation_is_unfinished) {
  std::vector<Dump> dumps = {made_dump(0, 2, 3, {})};
  dumps[0].reason = "failed";
  expect(Cause::lost, {1}, dumps);
}

TEST(Verdict, names_a_rank_that_runs_but_did_not_come) {
  expect(Cause::absent, {1}, {made_dump(0, 2, 3, {made_call(0, 3, {1})}), made_dump(1, 2, 2, {})});
}

TEST(Verdict, takes_an_operation_without_a_waiter_for_no_hang) {
  Operation behind = made_call(1, 1, {0});
  behind.has_waiter = false;
  Dump second = made_dump(1, 2, 2, {behind});
  second.groups.push_back(made_group("1", 1, 2, 1));
  expect(Cause::absent, {1}, {made_dump(0, 2, 3, {made_call(0, 3, {1})}), second});
}

TEST(Verdict, names_the_few_that_called_something_else) {
  Operation other = made_call(0, 3, {0, 2});
  other.call = "broadcast of int8, root 0";
  expect(Cause::other_operation, {1},
         {made_dump(0, 3, 3, {made_call(0, 3, {1})}), made_dump(1, 3, 3, {other}),
          made_dump(2, 3, 3, {made_call(0, 3, {1})})});
}

TEST(Verdict, names_both_of_two_that_differ) {
  Operation other = made_call(0, 3, {0});
  other.counts = 5;
  expect(Cause::other_sizes, {0, 1}, {made_dump(0, 2, 3, {made_call(0, 3, {1})}), made_dump(1, 2, 3, {other})});
}

TEST(Verdict, compares_with_a_call_that_is_over_by_its_sizes) {
  Operation over = made_call(0, 3, {});
  over.over = true;
  over.call = "";
  over.elements = {9};
  expect(Cause::other_sizes, {1},
         {made_dump(0, 3, 3, {made_call(0, 3, {1})}), made_dump(1, 3, 3, {over}),
          made_dump(2, 3, 3, {made_call(0, 3, {1})})});
}

TEST(Verdict, does_not_compare_different_parts_of_a_call) {
  Operation ahead = made_call(0, 3, {0});
  ahead.part = 1;
  ahead.counts = 5;
  expect(Cause::stalled, {}, {made_dump(0, 2, 3, {made_call(0, 3, {1})}), made_dump(1, 2, 3, {ahead})});
}

std::vector<Dump> crossed(std::size_t ranks, std::size_t odd) {
  std::vector<Dump> dumps;
  for (std::size_t r = 0; r < ranks; ++r) {
    const bool other = r == odd;
    Dump dump = made_dump(r, ranks, other ? 1 : 2, {made_call(other ? 1 : 0, 2, {other ? (odd + 1) % ranks : odd})});
    dump.groups.push_back(made_group("1", r, ranks, other ? 2 : 1));
    dumps.push_back(dump);
  }
  return dumps;
}

TEST(Verdict, names_the_rank_with_the_other_order_of_two_groups) {
  const Job job = made_job(crossed(4, 2));
  const Verdict verdict = judge(job);
  EXPECT_EQ(Cause::deadlock, verdict.cause);
  EXPECT_EQ(Ranks{2}, verdict.culprits);
  EXPECT_EQ(2u, verdict.groups.size());
  ASSERT_EQ(2u, verdict.examples.size());
  EXPECT_EQ(2u, verdict.examples[1].rank);
}

TEST(Verdict, names_both_of_two_that_wait_crosswise) { expect(Cause::deadlock, {0, 1}, crossed(2, 1)); }

TEST(Verdict, names_a_rank_that_receives_where_others_reduce) {
  expect(Cause::other_operation, {1},
         {made_dump(0, 3, 3, {made_call(0, 3, {1})}), made_dump(1, 3, 2, {receive(2)}),
          made_dump(2, 3, 3, {made_call(0, 3, {1})})});
}

TEST(Verdict, names_both_that_receive_from_each_other) {
  expect(Cause::deadlock, {0, 1}, {made_dump(0, 2, 3, {receive(1)}), made_dump(1, 2, 3, {receive(0)})});
}

TEST(Verdict, blames_no_rank_while_all_are_in_the_same_operation) {
  expect(Cause::stalled, {}, {made_dump(0, 2, 3, {made_call(0, 3, {1})}), made_dump(1, 2, 3, {made_call(0, 3, {0})})});
}

TEST(Verdict, takes_no_rank_for_late_by_the_clock_of_another_host) {
  std::vector<Dump> dumps = {made_dump(0, 2, 3, {made_call(0, 3, {1})}), made_dump(1, 2, 3, {made_call(0, 3, {0})})};
  dumps[1].operations[0].created_ns = 1'000'000;
  expect(Cause::absent, {1}, dumps);
  dumps[1].host = "other";
  expect(Cause::stalled, {}, dumps);
}

TEST(Verdict, blames_no_rank_without_waiting) { expect(Cause::unknown, {}, {made_dump(0, 1, 3, {})}); }

TEST(Job, leaves_out_dumps_of_an_earlier_run) {
  std::vector<Dump> dumps = {made_dump(0, 2, 3, {}), made_dump(0, 2, 3, {}), made_dump(1, 2, 3, {})};
  dumps[0].pid = 7;
  dumps[0].time_ns = 500;  // before the others had a group
  const Job job = made_job(dumps);
  ASSERT_EQ(2u, job.dumps().size());
  EXPECT_EQ(100, job.dumps()[0].pid);
  EXPECT_EQ(1u, job.left_out().size());
}

// The clock of the second host is far behind, or far ahead. Both hosts have a dump of an earlier run.
TEST(Job, compares_times_of_one_host_only) {
  for (const std::int64_t skew : {-1'000'000, 1'000'000}) {
    std::vector<Dump> dumps = {made_dump(0, 2, 3, {made_call(0, 3, {1})}), made_dump(1, 2, 2, {}),
                               made_dump(0, 2, 3, {}), made_dump(1, 2, 3, {})};
    for (const std::size_t earlier : {2, 3}) dumps[earlier].time_ns = 500;
    for (const std::size_t other_host : {1, 3}) {
      dumps[other_host].host = "other";
      dumps[other_host].time_ns += skew;
      dumps[other_host].groups[0].created_ns += skew;
    }
    const Job job = made_job(dumps);
    ASSERT_EQ(2u, job.left_out().size()) << skew;
    for (const LeftOut& one : job.left_out()) EXPECT_NE(std::string::npos, one.why.find("earlier run")) << one.why;
    expect(Cause::absent, {1}, dumps);
  }
}

TEST(Job, refuses_more_ranks_than_a_job_has) {
  std::vector<Dump> dumps = {made_dump(0, kRanksMost, 3, {}), made_dump(1, kRanksMost, 3, {})};
  EXPECT_TRUE(Job::of(dumps).ok());
  dumps[1].groups.push_back(made_group("dp", 0, 2, 1));
  dumps[1].groups[1].ranks = RankList(1'000'000, 1, 2);
  EXPECT_NE(std::string::npos, Job::of(dumps).status().message().find("more than 65536 ranks together"));
}

TEST(Job, prefers_the_first_dump_of_a_failure) {
  std::vector<Dump> dumps;
  for (const char* reason : {"asked", "failed", "timeout", "asked"}) {
    dumps.push_back(made_dump(0, 1, 3, {}));
    dumps.back().reason = reason;
    dumps.back().time_ns = 5000 + std::int64_t(dumps.size());
  }
  const Job job = made_job(dumps);
  ASSERT_EQ(1u, job.dumps().size());
  EXPECT_EQ("failed", job.dumps()[0].reason);
  EXPECT_EQ(3u, job.left_out().size());
}

}  // namespace
}  // namespace railweave::explain
