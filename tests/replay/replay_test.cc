#include "fsdp_replay/replay.h"

#include <map>

#include "fsdp_replay/bound.h"
#include "fsdp_replay/random_trace.h"
#include "tiny.h"

namespace railweave::replay_test {

using namespace perf::fsdp_replay;

namespace {

using collectives::Window;

class Modes : public testing::TestWithParam<Mode> {
 protected:
  Setting setting(const Parameters& p, int hosts, std::size_t operations = 1) const {
    return {ring_of(p, hosts), GetParam(), {.operations = operations}, LimiterKind::none, false};
  }
};
INSTANTIATE_TEST_SUITE_P(, Modes, testing::Values(Mode::segments, Mode::fluid),
                         [](const auto& one) { return std::string(name_of(one.param)); });

// The first step of bound_test.cc: one operation at a time, the most urgent first, is the best order.
TEST_P(Modes, one_at_a_time__reaches_the_bound) {
  const Parameters p = tiny_machine();
  const Trace trace = tiny_trace(2, milliseconds(3), milliseconds(5));
  const Outcome outcome = play(trace, setting(p, 2), p);
  EXPECT_EQ(outcome.step, milliseconds(18));
  EXPECT_EQ(outcome.exposed, milliseconds(2));
}

// 3 steps of 0.5 MB at 1 GB/s and 0.25 ms each: 2.25 ms an operation, and nothing overlaps.
TEST_P(Modes, latency__is_of_each_step) {
  Parameters p = tiny_machine();
  p.host_step_latency = std::chrono::microseconds(250);
  const Outcome outcome = play(tiny_trace(1, milliseconds(0), milliseconds(0)), setting(p, 4), p);
  EXPECT_NEAR(double(outcome.step.count()), 3 * 2.25e6, 10);  // fluid rates are rounded to nanoseconds
}

// An operation that moves nothing takes the latency of its steps, too, and waits for the one before on its channel.
TEST_P(Modes, latency__is_of_steps_that_move_nothing) {
  Parameters p = tiny_machine();
  p.host_step_latency = std::chrono::microseconds(250);
  p.channels_per_class = 1;
  Trace trace = tiny_trace(1, milliseconds(0), milliseconds(0));
  trace.layers[0].gather_bytes = trace.layers[0].reduce_bytes = 0;
  EXPECT_NEAR(double(play(trace, setting(p, 4), p).step.count()), 3 * 0.75e6, 100);  // fluid moves a byte in each step
}

// Two gathers at once take 0.5 MB steps in turn: while one waits for latency, the other has the wire.
TEST_P(Modes, two_at_once__hide_each_others_latency) {
  Parameters p = tiny_machine();
  p.host_step_latency = std::chrono::microseconds(500);
  const Trace trace = tiny_trace(2, milliseconds(0), milliseconds(0));
  const Nanos two = play(trace, setting(p, 4, 2), p).step, one = play(trace, setting(p, 4, 1), p).step;
  EXPECT_NEAR(double(one.count()), 18e6, 10);
  EXPECT_LT(two, one * 3 / 4);
}

// Both hosts' reduction of the second layer gives way to the gather that computing waits for.
TEST_P(Modes, an_urgent_gather__overtakes_a_reduction) {
  Parameters p = tiny_machine();
  p.backward_prefetch = 0;
  Trace trace = tiny_trace(2, milliseconds(0), milliseconds(1));
  trace.layers[1].reduce_bytes = 40'000'000;  // 20 ms
  Setting off = setting(p, 2, 0);
  off.limiter = LimiterKind::block_and_flush;  // so that the last gather is issued after the reduction began
  p.limiter_gathers = 1;
  const Outcome outcome = play(trace, off, p);
  // In ms: gathers at 0-1 and 1-2, and at 2-3, with computing to 4. Then the reduction, which the last gather
  // interrupts at 4, with computing to 6.
  EXPECT_GE(outcome.step, milliseconds(26));
  EXPECT_LE(outcome.step, milliseconds(27));
}

TEST_P(Modes, one_host__is_its_ranks) {
  const Parameters p = tiny_machine();
  EXPECT_EQ(play(tiny_trace(1, milliseconds(2), milliseconds(2)), setting(p, 1), p).step, milliseconds(1 + 2 + 2 + 1));
}

TEST_P(Modes, one_rank__only_computes) {
  Parameters p = tiny_machine();
  p.ranks_per_host = 1;
  EXPECT_EQ(play(tiny_trace(3, milliseconds(2), milliseconds(2)), setting(p, 1), p).step, milliseconds(12));
}

TEST_P(Modes, windows__are_never_exceeded) {
  const Parameters p = committed_parameters();
  const Trace trace = tiny_trace(8, milliseconds(1), milliseconds(2));
  for (const std::size_t operations : {1u, 2u, 3u}) {
    const Outcome outcome = play(trace, setting(p, 4, operations), p);
    EXPECT_LE(outcome.live_most.operations, operations);
    EXPECT_GT(outcome.live_most.operations, 0u);
  }
  Setting bytes = setting(p, 4);
  bytes.window = {.bytes = 5'000'000};
  EXPECT_EQ(play(trace, bytes, p).live_most.bytes, 4'000'000u);
  bytes.window = {.bytes = 1'000'000};  // an operation larger than the window is live alone
  EXPECT_EQ(play(trace, bytes, p).live_most.bytes, 2'000'000u);
}

TEST_P(Modes, every_trace__ends) {
  Parameters p = committed_parameters();
  Trace trace = tiny_trace(5, milliseconds(1), milliseconds(2));
  trace.layers[1].gather_bytes = 0;                                   // nothing to move
  trace.layers[2].gather_bytes = trace.layers[2].reduce_bytes = 100;  // less than a byte for each of 128 ranks
  trace.layers[3].forward = Nanos(0);
  for (const bool kept : {false, true})
    for (const int hosts : {1, 2, 3, 16})
      for (const Window window :
           {Window{}, Window{.operations = 1}, Window{.operations = 3}, Window{.bytes = 3'000'000}})
        for (const LimiterKind limiter : {LimiterKind::none, LimiterKind::block_and_flush, LimiterKind::sliding})
          for (const bool one_line : {false, true})
            for (const int ahead : {0, 1, 4}) {
              trace.layers[0].kept = trace.layers[4].kept = kept;
              p.forward_prefetch = p.backward_prefetch = ahead;
              const Setting s{ring_of(p, hosts), GetParam(), window, limiter, one_line};
              EXPECT_GE(play(trace, s, p).step, bound_of(trace, s.ring)) << hosts << " hosts, " << name_of(limiter);
            }
}

// Backward begins with the last unit, which gathers nothing: no limiter waits until it is freed.
TEST_P(Modes, a_kept_last_unit__leaves_limiters_nothing_to_wait_for) {
  Parameters p = tiny_machine();
  Trace trace = tiny_trace(4, milliseconds(1), milliseconds(2));
  trace.layers[3].kept = true;
  for (const int ahead : {0, 1, 2})
    for (const LimiterKind limiter : {LimiterKind::block_and_flush, LimiterKind::sliding}) {
      p.backward_prefetch = ahead;
      Setting s = setting(p, 2);
      s.limiter = limiter;
      EXPECT_GE(play(trace, s, p).step, bound_of(trace, s.ring)) << name_of(limiter) << ", " << ahead << " ahead";
    }
}

TEST_P(Modes, the_same__comes_out_every_time) {
  const Parameters p = committed_parameters();
  const Trace trace = tiny_trace(8, milliseconds(1), milliseconds(2));
  EXPECT_EQ(play(trace, setting(p, 6, 2), p).step, play(trace, setting(p, 6, 2), p).step);
}

double fluid_of_segments(const Trace& trace, Setting setting, const Parameters& p) {
  setting.mode = Mode::segments;
  const double segments = double(play(trace, setting, p).step.count());
  setting.mode = Mode::fluid;
  return double(play(trace, setting, p).step.count()) / segments;
}

// docs/guide/replay.md promises this for 7B's units: here for steps bound by computing and by communication, under
// every policy.
TEST(Agreement, segments_and_fluid__within_2_percent_at_8_and_16_hosts) {
  Parameters p = committed_parameters();
  p.segment_bytes = MiB;  // fewer events
  for (const double batch : {0.25, 1.0, 2.0})
    for (const int hosts : {8, 16}) {
      Trace trace = made("7B", batch, hosts, p);
      trace.layers.resize(9);
      for (const Window window : {Window{}, Window{.operations = 1}, Window{.operations = 2},
                                  Window{.bytes = 600 * MiB}, Window{.bytes = 2048 * MiB}})
        for (const LimiterKind limiter : {LimiterKind::none, LimiterKind::sliding}) {
          const Setting s{ring_of(p, hosts), Mode::segments, window, limiter, false};
          EXPECT_NEAR(fluid_of_segments(trace, s, p), 1, 0.02)
              << hosts << " hosts, batch " << batch << ", window of " << window.operations << " or " << window.bytes
              << " bytes, " << name_of(limiter);
        }
    }
}

// Steps made by chance, as the 200 of docs/guide/replay.md: most agree within 2 %, the others (seeds 4 to 157) within 7
// %.
TEST(Agreement, segments_and_fluid__of_steps_made_by_chance) {
  const Parameters p = committed_parameters();
  std::map<std::uint64_t, double> tolerances{{4, 0.07},  {16, 0.07},  {49, 0.07}, {53, 0.07},
                                             {70, 0.07}, {113, 0.07}, {157, 0.07}};
  for (std::uint64_t seed = 20; seed < 35; ++seed) tolerances[seed] = 0.02;
  // steps with much smaller operations beside large ones
  for (const std::uint64_t seed : {80u, 95u, 110u, 159u, 162u, 192u}) tolerances[seed] = 0.02;
  for (const auto& [seed, tolerance] : tolerances)
    for (const int hosts : {8, 16})
      for (const Window window : {Window{}, Window{.operations = 1}, Window{.operations = 2}}) {
        const Setting s{ring_of(p, hosts), Mode::segments, window, LimiterKind::none, false};
        EXPECT_NEAR(fluid_of_segments(random_trace(seed, p.wire), s, p), 1, tolerance)
            << "seed " << seed << ", " << hosts << " hosts, window of " << window.operations;
      }
}

}  // namespace
}  // namespace railweave::replay_test
