#include "base/core_wait.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>
#include <vector>

#include "base/clock.h"

namespace railweave {
namespace {

using namespace std::chrono_literals;

// Two threads share one core: each waits while the other runs.
TEST(CoreWait, grows_while_another_thread_has_the_core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  const auto contend = [&](Nanos& waited) {
    if (sched_setaffinity(0, sizeof one, &one) != 0) return;
    const Nanos before = core_wait().value_or(Nanos{0});
    const TimePoint until = now() + 10s;
    while (core_wait().value_or(before + 20ms) - before < 20ms && now() < until) {
    }
    waited = core_wait().value_or(before) - before;
  };
  Nanos first{0}, second{0};
  std::thread other([&] { contend(second); });
  std::thread([&] { contend(first); }).join();
  other.join();
  if (first + second == Nanos{0}) GTEST_SKIP() << "this kernel does not say how long a thread waits for a core";
  EXPECT_GE(first + second, 20ms);
}

}  // namespace
}  // namespace railweave
