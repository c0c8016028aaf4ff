#include "engine/runtime/reactor.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <future>
#include <vector>

#include "base/clock.h"

namespace railweave::engine {
namespace {

sigset_t own_mask() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return mask;
}

TEST(Reactor, start__without_a_thread_to_be_had_leaves_nothing_behind) {
  pthread_attr_t before, vast;
  ASSERT_EQ(0, pthread_getattr_default_np(&before));
  ASSERT_EQ(0, pthread_attr_init(&vast));
  ASSERT_EQ(0, pthread_attr_setstacksize(&vast, std::size_t{1} << 47));  // larger than the address space
  ASSERT_EQ(0, pthread_setattr_default_np(&vast));
  Reactor reactor;
  const Status failed = reactor.start();
  ASSERT_EQ(0, pthread_setattr_default_np(&before));
  EXPECT_EQ(Code::exhausted, failed.code()) << failed.message();
  EXPECT_FALSE(reactor.running());
  const sigset_t mask = own_mask();
  EXPECT_EQ(0, sigismember(&mask, SIGTERM));
  EXPECT_TRUE(reactor.start().ok());  // now a thread can be created
  std::promise<void> ran;
  reactor.run_soon([&] { ran.set_value(); });
  ran.get_future().wait();
}

TEST(Reactor, its_thread_leaves_signals_to_the_program_but_not_faults) {
  Reactor reactor;
  ASSERT_TRUE(reactor.start().ok());
  std::promise<sigset_t> told;
  reactor.run_soon([&] { told.set_value(own_mask()); });
  const sigset_t mask = told.get_future().get();
  EXPECT_EQ(1, sigismember(&mask, SIGTERM));
  EXPECT_EQ(1, sigismember(&mask, SIGCHLD));
  EXPECT_EQ(0, sigismember(&mask, SIGSEGV));
  EXPECT_EQ(0, sigismember(&mask, SIGBUS));
}

TEST(Reactor, cancel__that_timer_and_no_other) {
  Reactor reactor;
  ASSERT_TRUE(reactor.start().ok());
  std::vector<int> ran;
  std::promise<void> done;
  reactor.run_soon([&] {
    const TimePoint when = now() + std::chrono::milliseconds(2);
    std::vector<Reactor::TimerId> timers;
    for (int i = 0; i < 6; ++i) timers.push_back(reactor.at(when, [&ran, i] { ran.push_back(i); }));
    for (int i : {0, 3, 5, 3}) reactor.cancel(timers[std::size_t(i)]);
    reactor.at(when, [&] { done.set_value(); });
  });
  done.get_future().wait();
  EXPECT_EQ((std::vector<int>{1, 2, 4}), ran);
}

TEST(Reactor, at__a_timer_that_is_set_again_for_now_lets_tasks_run) {
  Reactor reactor;
  ASSERT_TRUE(reactor.start().ok());
  bool over = false;
  std::function<void()> again = [&] {
    if (!over) reactor.at(now(), again);
  };
  std::promise<void> begun, done;
  reactor.run_soon([&] {
    again();
    begun.set_value();
  });
  begun.get_future().wait();
  reactor.run_soon([&] {
    over = true;
    done.set_value();
  });
  done.get_future().wait();  // or the test times out
  reactor.stop();
}

}  // namespace
}  // namespace railweave::engine
