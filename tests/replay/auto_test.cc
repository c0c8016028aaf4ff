#include <algorithm>

#include "fsdp_replay/random_trace.h"
#include "tiny.h"

namespace railweave::replay_test {
namespace {

using perf::fsdp_replay::random_trace;
using perf::fsdp_replay::replay_auto;
using perf::fsdp_replay::ring_of;

// The order on the wire does what a window could do: none is needed, and `window:2` costs some of them much.
TEST(Auto, steps_made_by_chance__take_at_most_a_hundredth_more_than_the_better_policy) {
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
    EXPECT_LE(double(automatic->step.count()), 1.01 * double(std::min(with_off, with_window).count())) << "seed " << seed;
  }
  EXPECT_GT(off_wins, 0);
}

// Two layers: the thread runs ahead, so the first gather is due at once, the others when all four of 2 MB were issued. A gradient's
// reduction is handed over before the last piece is due.
TEST(Auto, leads__are_what_was_issued_until_a_piece_was_due) {
  const Parameters p = tiny_machine();
  const Outcome outcome = play(tiny_trace(2, milliseconds(3), milliseconds(5)), {ring_of(p, 2), Mode::segments, {}, LimiterKind::none, false}, p);
  ASSERT_FALSE(outcome.leads.empty());
  std::vector<std::int64_t> leads;         // in the order of issue; -1: none
  for (const auto& lead : outcome.leads) leads.push_back(lead ? std::int64_t(*lead) : -1);
  EXPECT_EQ(leads, (std::vector<std::int64_t>{0, 4'000'000, 2'000'000, -1, 2'000'000, -1}));
}

}  // namespace
}  // namespace railweave::replay_test
