#include "collectives/scheduler/repeat_finder.h"

#include <gtest/gtest.h>

#include <random>

namespace railweave::collectives_test {
namespace {

using collectives::RepeatFinder;
using Event = RepeatFinder::Event;

std::vector<std::uint64_t> step_of(std::size_t operations) {
  std::vector<std::uint64_t> step;
  std::mt19937 random(1);
  for (std::size_t i = 0; i < operations; ++i) step.push_back(random());
  return step;
}

// Returns the number of entries until the step is found. Fails the test if it never is.
std::size_t until_found(RepeatFinder& finder, const std::vector<std::uint64_t>& step) {
  for (std::size_t i = 0; i < 3 * (step.size() + RepeatFinder::kRepeatLeast); ++i)
    if (finder.add(step[i % step.size()]) == Event::found) return i + 1;
  ADD_FAILURE() << "never found";
  return 0;
}

TEST(RepeatFinder, a_step_is_found_after_3_times_or_256_repeated_operations) {
  for (const std::size_t operations : {3u, 36u, 120u, 128u, 129u, 300u, 1000u}) {
    RepeatFinder finder;
    const auto step = step_of(operations);
    EXPECT_EQ(until_found(finder, step), operations + std::max<std::size_t>(2 * operations, 256));
    EXPECT_EQ(finder.period(), operations);
  }
}

TEST(RepeatFinder, a_cycle__is_what_came_last_the_oldest_first) {
  RepeatFinder finder;
  const std::size_t entries = until_found(finder, {5, 6, 7});
  std::vector<std::uint64_t> last;
  for (std::size_t i = entries - 3; i < entries; ++i) last.push_back(5 + i % 3);
  EXPECT_EQ(finder.cycle(), last);
}

// Forward only gathers; backward gathers and reduces in turn. With 200 layers the backward pass repeats for long enough
// to be taken for a step.
TEST(RepeatFinder, layers_that_are_alike__are_no_step) {
  for (const std::size_t layers : {100u, 200u, 1000u}) {
    std::vector<std::uint64_t> step(layers, 1);
    for (std::size_t layer = 0; layer < layers; ++layer) step.insert(step.end(), {1, 2});
    RepeatFinder finder;
    int broken = 0;
    for (int times = 0; times < 5; ++times) {
      if (times == 4) broken = 0;
      for (const std::uint64_t what : step) broken += finder.add(what) == Event::broken;
    }
    EXPECT_EQ(finder.period(), step.size()) << layers;
    EXPECT_EQ(broken, 0) << layers;
  }
}

// Other operations break the step, as an evaluation of a job does.
TEST(RepeatFinder, a_short_step__is_found_again_as_soon_as_at_first) {
  RepeatFinder finder;
  for (int times = 0; times < 3; ++times) {
    EXPECT_EQ(until_found(finder, {7}), 1u + 256u - (times > 0));
    for (std::size_t i = 0; i < 1600; ++i) ASSERT_EQ(finder.add(7), Event::none);
    EXPECT_EQ(finder.add(8), Event::broken);
    for (const std::uint64_t what : {9, 10, 7}) finder.add(what);
  }
}

TEST(RepeatFinder, what_came_before__does_not_matter) {
  std::mt19937 random(1);
  RepeatFinder finder;
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(finder.add(random()), Event::none);
  const auto step = step_of(40);
  EXPECT_EQ(until_found(finder, step), 40u + 256u);
}

TEST(RepeatFinder, another_operation__breaks_it_and_it_is_found_again) {
  RepeatFinder finder;
  const auto step = step_of(36);
  const std::size_t entries = until_found(finder, step);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(finder.add(step[(entries + i) % 36]), Event::none);
  EXPECT_EQ(finder.add(999), Event::broken);
  EXPECT_EQ(finder.period(), 0u);
  EXPECT_EQ(until_found(finder, step), 256u + 36u);
}

TEST(RepeatFinder, a_step_that_is_too_long__is_never_found) {
  RepeatFinder finder;
  for (int times = 0; times < 4; ++times)
    for (std::uint64_t i = 0; i < RepeatFinder::kPeriodMost + 1; ++i) EXPECT_EQ(finder.add(i), Event::none);
}

}  // namespace
}  // namespace railweave::collectives_test
