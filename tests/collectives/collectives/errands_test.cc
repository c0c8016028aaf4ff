// How long whoever sends on errands waits for them in the end.
#include "collectives/exec/errands.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using collectives::Errands;

constexpr Nanos kSoon = Errands::kWaitMost / 2;

TEST(Errands, the_destructor__waits_until_all_are_done) {
  std::optional<Errands> errands(std::in_place);
  ASSERT_TRUE(errands->start().ok());
  std::atomic<int> done{0};
  for (int i = 0; i < 3; ++i)
    errands->add([&done] {
      std::this_thread::sleep_for(20ms);
      ++done;
    });
  const TimePoint start = now();
  errands.reset();
  EXPECT_EQ(done, 3);
  EXPECT_LT(now() - start, kSoon);
}

TEST(Errands, that_never_began__are_waited_for_by_nobody) {
  const TimePoint start = now();
  { const Errands errands; }
  EXPECT_LT(now() - start, kSoon);
}

TEST(Errands, one_that_hangs__is_left_behind_with_those_after_it) {
  std::promise<void> answer;
  std::promise<int> last;
  auto said = last.get_future();
  std::optional<Errands> errands(std::in_place);
  ASSERT_TRUE(errands->start().ok());
  errands->add([answered = answer.get_future().share()] { answered.wait_for(5 * Errands::kWaitMost); });
  errands->add([owned = std::make_shared<std::promise<int>>(std::move(last))] { owned->set_value(7); });
  const TimePoint start = now();
  errands.reset();
  EXPECT_LT(now() - start, 2 * Errands::kWaitMost);
  EXPECT_EQ(said.wait_for(0s), std::future_status::timeout);
  answer.set_value();
  ASSERT_EQ(said.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(said.get(), 7);
}

}  // namespace
}  // namespace railweave::collectives_test
