// The memory of steps with limiters, and the cost of running out of memory without one.
#include "fsdp_replay/limiter.h"
#include "tiny.h"

namespace railweave::replay_test {

using namespace perf::fsdp_replay;

namespace {

Setting with_limiter(const Parameters& p, LimiterKind limiter) {
  return {ring_of(p, 2), Mode::fluid, {.operations = 1}, limiter, true};
}

// The thread issues everything at once: four layers' parameters for forward, and those for backward while the former
// wait; then gradients.
TEST(Memory, no_limiter__holds_what_the_thread_ran_ahead) {
  const Parameters p = tiny_machine();
  const Trace trace = tiny_trace(4, milliseconds(3), milliseconds(3));
  EXPECT_EQ(play(trace, with_limiter(p, LimiterKind::none), p).memory_most, 24'000'000u);
}

TEST(Memory, a_sliding_window__holds_two_gathers_and_their_gradients) {
  const Parameters p = tiny_machine();
  const Outcome outcome =
      play(tiny_trace(4, milliseconds(3), milliseconds(3)), with_limiter(p, LimiterKind::sliding), p);
  EXPECT_EQ(outcome.memory_most, 2 * 2'000'000u + 3 * 2'000'000u);
  EXPECT_EQ(outcome.failed_allocations, 0);
}

// Times in ms. Forward in blocks: gathers at 0-1 and 1-2, computing at 1-4 and 4-7; gathers at 7-8 and 8-9, computing
// at 8-11 and 11-14. Backward only communicates, in blocks of two: gather 14-15, reduction, gather, reduction to 18,
// and as much again to 22. A sliding window gathers the third layer at 4-5 and the fourth at 7-8, so that computing
// goes on to 13, and backward to 20 (its first gather was at 10-11).
TEST(Memory, block_and_flush__leaves_a_bubble_in_each_block) {
  const Parameters p = tiny_machine();
  const Trace trace = tiny_trace(4, milliseconds(3), milliseconds(0));
  const Outcome blocks = play(trace, with_limiter(p, LimiterKind::block_and_flush), p);
  const Outcome slides = play(trace, with_limiter(p, LimiterKind::sliding), p);
  EXPECT_EQ(blocks.step, milliseconds(22));
  EXPECT_EQ(slides.step, milliseconds(20));
}

// Times in ms; there is room for three layers. The fourth gather waits until all that was launched has ended, at 10,
// and 5 for the synchronisation: it takes 15-16, computing goes on to 19, and the gradient is reduced at 19-20. The
// next gather does not fit beside these three, and waits to 25. Then there is room for two gathers and a gradient:
// gather 25-26, a reduction, and the next gather at 27-28. The last gather does not fit, and waits to 33: a reduction,
// the last gather at 34-35, the last reduction at 35-36.
TEST(Memory, a_failed_allocation_waits_and_costs_a_synchronisation) {
  Parameters p = tiny_machine();
  p.memory_bytes = 7'000'000;
  p.synchronize = milliseconds(5);
  const Trace trace = tiny_trace(4, milliseconds(3), milliseconds(0));
  const Outcome outcome = play(trace, with_limiter(p, LimiterKind::none), p);
  EXPECT_EQ(outcome.failed_allocations, 3);
  EXPECT_EQ(outcome.memory_most, 6'000'000u);
  EXPECT_EQ(outcome.step, milliseconds(36));
  p.memory_bytes = 1'000'000'000;
  EXPECT_EQ(play(trace, with_limiter(p, LimiterKind::none), p).step, milliseconds(20));
}

TEST(Memory, a_layer_that_never_fits__is_an_error_that_says_so) {
  Parameters p = tiny_machine();
  p.memory_bytes = 1'500'000;
  for (const Mode mode : {Mode::segments, Mode::fluid}) {
    Setting setting = with_limiter(p, LimiterKind::none);
    setting.mode = mode;
    auto outcome = replay(tiny_trace(2, milliseconds(1), milliseconds(1)), setting, p);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.status().code(), Code::exhausted);
    EXPECT_NE(outcome.status().message().find("tiny"), std::string::npos);
  }
}

TEST(Limiter, sliding__waits_only_for_what_was_launched) {
  Limiter limiter(LimiterKind::sliding, 2, 10);
  limiter.issued(8);
  EXPECT_FALSE(limiter.must_wait(8));  // nothing is launched to wait for
  limiter.launched();
  EXPECT_TRUE(limiter.must_wait(8));
  EXPECT_FALSE(limiter.must_wait(2));
  limiter.freed(8);
  EXPECT_FALSE(limiter.must_wait(8));
}

TEST(Limiter, block_and_flush__waits_for_all_of_a_block) {
  Limiter limiter(LimiterKind::block_and_flush, 2, 0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(limiter.must_wait(1));
    limiter.issued(1);
    limiter.launched();
  }
  EXPECT_TRUE(limiter.must_wait(1));
  limiter.freed(1);
  EXPECT_TRUE(limiter.must_wait(1));
  limiter.freed(1);
  EXPECT_FALSE(limiter.must_wait(1));
}

TEST(Limiter, parse__what_there_is_not) {
  const auto parsed = parse_limiter("count");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.status().message(), "found 'count', expected none, block_and_flush or sliding");
}

}  // namespace
}  // namespace railweave::replay_test
