// post() neither allocates nor locks (decision D5), while its session is watched and while it is borrowed
// (engine/session/session_watch.h).
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "counted_calls.h"
#include "joined_engines.h"

namespace railweave::engine_test {
namespace {

constexpr std::size_t kBurst = 32;  // requests under way in a stream
using Bytes = std::array<std::byte, 8>;

// Shows that both counters count.
TEST(CountedCalls, see_an_allocation_and_a_lock) {
  std::mutex mutex;
  const CountedCalls counted;
  { const std::lock_guard lock(mutex); }
  const auto allocated = std::make_unique<std::deque<int>>(1000);
  EXPECT_GE(counted.allocations(), 1u);
  EXPECT_EQ(counted.locks(), 1u);
}

class Posts : public JoinedEngines {
 protected:
  // Posts a burst at both ends. Counts the allocations and locks of the posts only.
  void post_burst() {
    for (std::size_t i = 0; i < kBurst; ++i) {
      const CountedCalls counted;
      receives_[i] = *ends_.recv->post(places_[i].data(), places_[i].size());
      sends_[i] = *ends_.send->post(messages_[i].data(), messages_[i].size());
      allocations_ += counted.allocations();
      locks_ += counted.locks();
    }
    posts_ += 2 * kBurst;
  }

  // Waits, without polling, until the reactors have completed all requests, then tests the requests.
  void wait_for_reactors() {
    ASSERT_TRUE(eventually([&] {
      for (std::size_t i = 0; i < kBurst; ++i)
        if (!ends_.recv->ended(receives_[i]) || !ends_.send->ended(sends_[i])) return false;
      return true;
    }));
    poll();
  }

  // Tests every request until it is done, as NCCL's proxy does.
  void poll() {
    std::vector<std::pair<Stream*, Request*>> open;
    for (std::size_t i = 0; i < kBurst; ++i) {
      open.emplace_back(ends_.recv.get(), receives_[i]);
      open.emplace_back(ends_.send.get(), sends_[i]);
    }
    const auto until = now() + std::chrono::seconds(20);
    while (!open.empty() && now() < until) {
      std::erase_if(open, [](const auto& one) {
        auto progress = one.first->test(one.second);
        EXPECT_TRUE(progress.ok()) << progress.status().message();
        return !progress.ok() || progress->done;
      });
    }
    ASSERT_TRUE(open.empty()) << open.size() << " requests are not done";
  }

  void expect_nothing_counted(std::size_t posts_least) const {
    EXPECT_GE(posts_, posts_least);
    EXPECT_EQ(allocations_, 0u) << "of " << posts_ << " posts";
    EXPECT_EQ(locks_, 0u) << "of " << posts_ << " posts";
  }

  std::array<Bytes, kBurst> messages_{}, places_{};
  std::array<Request*, kBurst> sends_{}, receives_{};
  std::uint64_t posts_ = 0, allocations_ = 0, locks_ = 0;
};

TEST_F(Posts, watched__the_reactor_is_woken_without_memory_or_a_lock) {
  while (posts_ < 100'000 && !HasFatalFailure()) {
    post_burst();
    wait_for_reactors();
  }
  expect_nothing_counted(100'000);
}

TEST_F(Posts, borrowed__callers_poll_and_nobody_is_woken) {
  while (posts_ < 1'000'000 && !HasFatalFailure()) {
    post_burst();
    poll();
  }
  expect_nothing_counted(1'000'000);
}

}  // namespace
}  // namespace railweave::engine_test
