// How long the destructor of BackgroundWorker waits for tasks.
#include "collectives/exec/background_worker.h"

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
using collectives::BackgroundWorker;

constexpr Nanos kSoon = BackgroundWorker::kWaitMost / 2;

TEST(BackgroundWorker, the_destructor__waits_until_all_are_done) {
  std::optional<BackgroundWorker> tasks(std::in_place);
  ASSERT_TRUE(tasks->start().ok());
  std::atomic<int> done{0};
  for (int i = 0; i < 3; ++i)
    tasks->add([&done] {
      std::this_thread::sleep_for(20ms);
      ++done;
    });
  const TimePoint start = now();
  tasks.reset();
  EXPECT_EQ(done, 3);
  EXPECT_LT(now() - start, kSoon);
}

TEST(BackgroundWorker, a_worker_that_never_started_is_not_waited_for) {
  const TimePoint start = now();
  { const BackgroundWorker tasks; }
  EXPECT_LT(now() - start, kSoon);
}

TEST(BackgroundWorker, a_task_that_hangs_is_left_behind_with_those_after_it) {
  std::promise<void> answer;
  std::promise<int> last;
  auto said = last.get_future();
  std::optional<BackgroundWorker> tasks(std::in_place);
  ASSERT_TRUE(tasks->start().ok());
  tasks->add([answered = answer.get_future().share()] { answered.wait_for(5 * BackgroundWorker::kWaitMost); });
  tasks->add([owned = std::make_shared<std::promise<int>>(std::move(last))] { owned->set_value(7); });
  const TimePoint start = now();
  tasks.reset();
  EXPECT_LT(now() - start, 2 * BackgroundWorker::kWaitMost);
  EXPECT_EQ(said.wait_for(0s), std::future_status::timeout);
  answer.set_value();
  ASSERT_EQ(said.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(said.get(), 7);
}

}  // namespace
}  // namespace railweave::collectives_test
