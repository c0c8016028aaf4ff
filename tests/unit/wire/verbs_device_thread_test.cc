// The thread of a device: order, input and its end.
#include "wire/verbs/device_thread.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace railweave::wire::verbs {
namespace {

std::unique_ptr<DeviceThread> start_thread(DeviceThread::Input input = {[] { return -1; }, [] {}}) {
  auto started = DeviceThread::start("rw-test", std::move(input));
  EXPECT_TRUE(started.ok()) << started.status().message();
  return std::move(*started);
}

TEST(VerbsDeviceThread, runs_commands_in_order) {
  auto ran = std::make_shared<std::vector<int>>();
  std::promise<void> done;
  const auto thread = start_thread();
  for (int i = 0; i < 100; ++i) thread->run([ran, i] { ran->push_back(i); });
  thread->run([&] { done.set_value(); });
  done.get_future().wait();
  ASSERT_EQ(ran->size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(*ran));
}

TEST(VerbsDeviceThread, runs_all_commands_before_its_end) {
  std::promise<void> begin, done;
  auto count = std::make_shared<std::atomic<int>>(0);
  auto thread = start_thread();
  thread->run([&begin] { begin.get_future().wait(); });
  for (int i = 0; i < 10; ++i) thread->run([count] { ++*count; });
  std::list<Command> last;
  last.emplace_back([&done] { done.set_value(); });
  thread->finish(last);
  thread.reset();  // does not wait: the first command still runs
  EXPECT_EQ(*count, 0);
  begin.set_value();
  done.get_future().wait();
  EXPECT_EQ(*count, 10);
}

TEST(VerbsDeviceThread, lets_go_of_what_commands_hold) {
  auto held = std::make_shared<int>(1);
  std::promise<void> done;
  std::weak_ptr<int> seen = held;
  const auto thread = start_thread();
  thread->run([kept = std::move(held)] {});
  thread->run([&] { done.set_value(); });
  done.get_future().wait();
  EXPECT_TRUE(seen.expired()) << "a command is destroyed before the next one runs";
}

TEST(VerbsDeviceThread, reads_input_between_commands) {
  const OwnedFd events(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  std::promise<void> read;
  const auto thread = start_thread({[fd = events.get()] { return fd; },
                                    [&] {
                                      eventfd_t value = 0;
                                      if (::eventfd_read(events.get(), &value) == 0) read.set_value();
                                    }});
  ASSERT_EQ(::eventfd_write(events.get(), 1), 0);
  read.get_future().wait();
  std::promise<void> done;
  std::list<Command> last;
  last.emplace_back([&done] { done.set_value(); });
  thread->finish(last);
  done.get_future().wait();
}

TEST(VerbsDeviceThread, tells_for_how_long_a_command_runs) {
  std::promise<void> began, end, done;
  const auto thread = start_thread();
  EXPECT_EQ(thread->busy_for(), Nanos(0));
  thread->run([&] {
    began.set_value();
    end.get_future().wait();
  });
  began.get_future().wait();
  EXPECT_GT(thread->busy_for(), Nanos(0));
  end.set_value();
  thread->run([&] { done.set_value(); });
  done.get_future().wait();
}

}  // namespace
}  // namespace railweave::wire::verbs
