#include "fsdp_replay/bound.h"

#include "fsdp_replay/step_length.h"
#include "tiny.h"

namespace railweave::replay_test {

using namespace perf::fsdp_replay;

namespace {

// Gathers arrive at 1, 2, 3 and 4 ms. Forward computes 1-4 and 4-7, backward 7-12 and 12-17; reductions take 12-13 and
// 17-18.
TEST(Bound, computing_in_front_exposes_first_gather_and_last_reduction) {
  const Parameters p = tiny_machine();
  EXPECT_EQ(bound_of(tiny_trace(2, milliseconds(3), milliseconds(5)), ring_of(p, 2)), milliseconds(18));
}

// The wire is never idle: four gathers, two reductions.
TEST(Bound, communication_in_front__is_the_wire) {
  const Parameters p = tiny_machine();
  EXPECT_EQ(bound_of(tiny_trace(2, milliseconds(0), milliseconds(0)), ring_of(p, 2)), milliseconds(6));
}

// Three gathers are enough if the first unit keeps its parameters for backward. A played step gathers as often.
TEST(Bound, a_unit_that_is_kept__is_gathered_once) {
  const Parameters p = tiny_machine();
  Trace trace = tiny_trace(2, milliseconds(0), milliseconds(0));
  trace.layers[0].kept = true;
  EXPECT_EQ(bound_of(trace, ring_of(p, 2)), milliseconds(5));
  const Setting setting{ring_of(p, 2), Mode::segments, {.operations = 1}, LimiterKind::none, false};
  EXPECT_EQ(play(trace, setting, p).step, milliseconds(5));
}

// Two operations of 8 TB, half of which moves, take 4000 s each at 1 GB/s. Rate::time_for() returns one hour at most.
TEST(Bound, operations_of_hours__are_as_long_as_they_are) {
  Trace trace = tiny_trace(1, milliseconds(0), milliseconds(0));
  trace.layers[0].gather_bytes = trace.layers[0].reduce_bytes = 8'000'000'000'000;
  trace.layers[0].kept = true;
  EXPECT_EQ(bound_of(trace, ring_of(tiny_machine(), 2)), std::chrono::seconds(8000));
}

TEST(Bound, a_step_of_years__is_refused) {
  Parameters p = tiny_machine();
  p.wire = Rate{1e-290};
  const Trace trace = tiny_trace(1, milliseconds(0), milliseconds(0));
  const auto outcome = replay(trace, {ring_of(p, 2), Mode::fluid, {}, LimiterKind::none, false}, p);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.status().code(), Code::invalid_argument);
  EXPECT_EQ(
      outcome.status().message(),
      "tiny: found a step of 3e+296 s on a ring of 2, one thing after the other, expected 10000 s or less to play it");
  EXPECT_EQ(check_length_to_bound(trace, ring_of(p, 2)).message(),
            "tiny: found a step of 3e+296 s on a ring of 2, one thing after the other, expected 1e+08 s or less to "
            "compute its bound");
}

// A replay would play each millisecond in which something is held.
TEST(Bound, a_step_of_days__is_computed_but_not_played) {
  Parameters p = tiny_machine();
  p.wire = Rate{30};
  const Trace trace = tiny_trace(1, milliseconds(0), milliseconds(0));
  EXPECT_TRUE(check_length_to_bound(trace, ring_of(p, 2)).ok());
  EXPECT_EQ(replay(trace, {ring_of(p, 2), Mode::fluid, {}, LimiterKind::none, false}, p).status().code(),
            Code::invalid_argument);
}

// The thread alone takes 3 hours for each of five acts, times 100,000 layers.
TEST(Bound, a_thread_of_years__is_refused) {
  Parameters p = tiny_machine();
  p.launch = p.wake = p.synchronize = std::chrono::hours(1);
  const Trace trace = tiny_trace(100'000, milliseconds(0), milliseconds(0));
  EXPECT_EQ(replay(trace, {ring_of(p, 2), Mode::fluid, {}, LimiterKind::none, false}, p).status().code(),
            Code::invalid_argument);
}

TEST(Bound, the_optimizer__comes_last) {
  const Parameters p = tiny_machine();
  Trace trace = tiny_trace(1, milliseconds(1), milliseconds(1));
  trace.optimizer = milliseconds(7);
  EXPECT_EQ(bound_of(trace, ring_of(p, 2)), milliseconds(1 + 1 + 1 + 1 + 7));
}

// Each of four hosts moves three quarters of the bytes. The bound does not count latency.
TEST(Bound, hosts__move_what_is_not_their_own) {
  Parameters p = tiny_machine();
  p.host_step_latency = milliseconds(9);
  EXPECT_EQ(bound_of(tiny_trace(1, milliseconds(0), milliseconds(0)), ring_of(p, 4)),
            std::chrono::microseconds(3 * 1500));
}

TEST(Bound, no_replay__is_shorter) {
  const Parameters p = committed_parameters();
  Trace trace = tiny_trace(6, milliseconds(2), milliseconds(4));
  trace.layers[0].kept = trace.layers[5].kept = true;
  for (const int hosts : {2, 5, 8})
    for (const Mode mode : {Mode::segments, Mode::fluid})
      for (const std::size_t operations : {0u, 1u, 2u}) {
        const Setting setting{ring_of(p, hosts), mode, {.operations = operations}, LimiterKind::none, false};
        EXPECT_GE(play(trace, setting, p).step, bound_of(trace, setting.ring)) << hosts << " hosts";
      }
}

}  // namespace
}  // namespace railweave::replay_test
