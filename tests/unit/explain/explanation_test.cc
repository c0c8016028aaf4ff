#include "explain/explanation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "explain/rank_text.h"
#include "made_dumps.h"

namespace railweave::explain {
namespace {

std::vector<Dump> without_rank_2() {
  return {made_dump(0, 3, 3, {made_call(0, 3, {2})}), made_dump(1, 3, 3, {made_call(0, 3, {2})})};
}

std::string text_of(std::vector<Dump> dumps) {
  const Job job = made_job(std::move(dumps));
  return explanation_text(job, judge(job));
}

void expect_part(const std::string& part, const std::string& text) {
  EXPECT_NE(std::string::npos, text.find(part)) << text;
}

TEST(Explanation, begins_with_the_culprit) {
  const std::string text = text_of(without_rank_2());
  EXPECT_EQ(0u, text.find("Rank 2 wrote no dump")) << text;
  expect_part("Rank 0 waits in all_reduce number 3 of group '0' of 3 ranks, at train.py:43 in step.\n", text);
  expect_part("Rank 0 reported: Timed out after 4000 ms\n", text);
  expect_part("2 of 3 ranks wrote a dump.\n", text);
  expect_part("     2  -       -  no dump ", text);
}

TEST(Explanation, shows_where_the_main_thread_of_an_absent_rank_is) {
  expect_part("Rank 1 has not called it; its main thread is at data.py:7 in loop.\n",
              text_of({made_dump(0, 2, 3, {made_call(0, 3, {1})}), made_dump(1, 2, 2, {})}));
}

TEST(Explanation, says_how_late_a_rank_came) {
  Operation late = made_call(0, 3, {});
  late.created_ns = 2'000'005'000;  // the other's dump is of 5000
  expect_part("Rank 1 came 2.00 s after rank 0 had given up.\n",
              text_of({made_dump(0, 2, 3, {made_call(0, 3, {1})}), made_dump(1, 2, 3, {late})}));
}

TEST(Explanation, says_when_the_interpreter_was_locked) {
  Dump locked = made_dump(1, 2, 2, {});
  locked.main.clear();
  locked.stacks_known = false;
  expect_part("a thread of it keeps the interpreter's lock (GIL)",
              text_of({made_dump(0, 2, 3, {made_call(0, 3, {1})}), locked}));
}

TEST(Explanation, shows_both_calls_that_differ) {
  Operation other = made_call(0, 3, {0});
  other.counts = 1;
  other.elements = {9};
  const std::string text = text_of({made_dump(0, 3, 3, {made_call(0, 3, {1})}), made_dump(1, 3, 3, {other}),
                                    made_dump(2, 3, 3, {made_call(0, 3, {1})})});
  expect_part("In ranks 0, 2: all_reduce of float32 (sum), elements 8 Float, at train.py:43 in step.\n", text);
  expect_part("In rank 1: all_reduce of float32 (sum), elements 9 Float", text);
}

TEST(Explanation, passes_no_control_sequence_to_the_terminal) {
  std::vector<Dump> dumps = without_rank_2();
  dumps[0].why = "\x1b[2J";
  dumps[0].host = "\x1b";
  dumps[0].groups[0].name = dumps[1].groups[0].name = "g\x1b\n";
  dumps[0].operations[0].frames[1].name = "f\x1b\x9b";
  EXPECT_EQ(std::string::npos, text_of(dumps).find('\x1b'));
}

TEST(Explanation, is_the_same_as_json) {
  const Job job = made_job(without_rank_2());
  const auto json = explanation_json(job, judge(job));
  EXPECT_EQ("silent", json["cause"]);
  EXPECT_EQ(std::vector<int>{2}, json["culprits"].get<std::vector<int>>());
  EXPECT_EQ("0", json["groups"][0]);
  EXPECT_EQ("all_reduce number 3", json["ranks"][1]["operation"]);
  EXPECT_EQ(2, json["ranks"][1]["waits_for"][0]);
  EXPECT_EQ("train.py:43 in step", json["ranks"][1]["where"]);
  EXPECT_EQ(2, json["without_dump"][0]);
}

TEST(RankText, joins_ranges) {
  EXPECT_EQ("rank 5", ranks_text({5}));
  EXPECT_EQ("ranks 0, 1, 4 to 7, 9", ranks_text({0, 1, 4, 5, 6, 7, 9}));
  std::vector<std::uint64_t> even;
  for (std::uint64_t rank = 0; rank < 100; rank += 2) even.push_back(rank);
  EXPECT_EQ("ranks 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30 and 34 more", ranks_text(even));
}

}  // namespace
}  // namespace railweave::explain
