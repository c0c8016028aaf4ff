#include <algorithm>

#include "fsdp_replay/random_trace.h"
#include "tiny.h"

namespace railweave::replay_test {
namespace {

using perf::fsdp_replay::random_trace;
using perf::fsdp_replay::replay_auto;
using perf::fsdp_replay::ring_of;

// The order on the wire does what a window could do, so no step needs one, and `window:2` makes some steps much slower.
// replay_auto() plays each candidate once and takes the best, so auto cannot be slower. So this test judges only the
// candidates and choose_candidate(). Learning is tested in tests/collectives and in the lab.
TEST(Auto, random_steps_take_1_percent_more_than_the_best_at_most) {
  const Parameters p = committed_parameters();
  int off_wins = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Trace trace = random_trace(seed, p.wire);
    const Setting off{ring_of(p, 64), Mode::fluid, {}, LimiterKind::none, false};
    Setting window = off;
    window.window.operations = 2;
    auto automatic = replay_auto(trace, off, p);
    ASSERT_TRUE(automatic.ok()) << automatic.status().message();
    const Nanos with_off = play(trace, off, p).step, with_window = play(trace, window, p).step;
    off_wins += 1.01 * double(with_off.count()) < double(with_window.count());
    EXPECT_LE(double(with_off.count()), 1.01 * double(with_window.count())) << "seed " << seed;
    EXPECT_LE(double(automatic->step.count()), 1.01 * double(std::min(with_off, with_window).count()))
        << "seed " << seed;
  }
  EXPECT_GT(off_wins, 0);
}

// Returns the leads in the order of issue; -1: none.
std::vector<std::int64_t> leads_of(const Outcome& outcome) {
  std::vector<std::int64_t> leads;
  for (const auto& lead : outcome.leads) leads.push_back(lead ? std::int64_t(*lead) : -1);
  return leads;
}

// Two layers of 2 MB. The thread runs ahead: the first gather is due at once, the next two after all four gathers are
// issued. The last gather is due after a gradient's reduction was handed over.
TEST(Auto, leads__are_what_was_issued_until_a_piece_was_due) {
  const Parameters p = tiny_machine();
  const Outcome outcome = play(tiny_trace(2, milliseconds(3), milliseconds(5)),
                               {ring_of(p, 2), Mode::segments, {}, LimiterKind::none, false}, p);
  EXPECT_EQ(leads_of(outcome), (std::vector<std::int64_t>{0, 4'000'000, 2'000'000, -1, 2'000'000, -1}));
}

// Operations that the scheduler does not count have no lead, and are part of none.
TEST(Auto, leads__count_what_the_scheduler_does) {
  const Parameters p = tiny_machine();
  Trace trace = tiny_trace(3, milliseconds(3), milliseconds(5));
  trace.layers[1].gather_bytes = trace.layers[1].reduce_bytes = 1000;
  const Outcome outcome = play(trace, {ring_of(p, 2), Mode::segments, {}, LimiterKind::none, false}, p);
  EXPECT_EQ(leads_of(outcome), (std::vector<std::int64_t>{0, -1, 4'000'000, 2'000'000, -1, -1, -1, 2'000'000, -1}));
}

}  // namespace
}  // namespace railweave::replay_test
