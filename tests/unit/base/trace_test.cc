#include "base/trace.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace railweave::trace {
namespace {

Record numbered(std::uint64_t number) {
  const std::int64_t t = nanos_of(now());
  return {.begin = t,
          .end = t,
          .what = number,
          .bytes = ~number,
          .detail = 0,
          .whose = 0,
          .rail = 0,
          .priority = 0,
          .kind = Kind::wait};
}

TEST(Trace, nothing_is_kept_while_it_is_off) {
  EXPECT_FALSE(on());
  add(numbered(1));
  EXPECT_TRUE(stop().records.empty());
  ASSERT_TRUE(start(4));
  EXPECT_TRUE(stop().records.empty());
}

TEST(Trace, start__once_until_stopped) {
  ASSERT_TRUE(start(4));
  EXPECT_TRUE(on());
  EXPECT_FALSE(start(4));
  add(numbered(7));
  const Taken taken = stop();
  ASSERT_EQ(taken.records.size(), 1u);
  EXPECT_EQ(taken.records[0].what, 7u);
  EXPECT_FALSE(on());
  ASSERT_TRUE(start(4));
  EXPECT_TRUE(stop().records.empty());
}

TEST(Trace, start__what_began_before_is_not_of_it) {
  const Record earlier = numbered(1);
  std::this_thread::sleep_for(std::chrono::microseconds(1));
  ASSERT_TRUE(start(4));
  add(earlier);
  add(numbered(2));
  const Taken taken = stop();
  ASSERT_EQ(taken.records.size(), 1u);
  EXPECT_EQ(taken.records[0].what, 2u);
  EXPECT_EQ(taken.dropped, 0u);
}

TEST(Trace, add__what_finds_no_room_is_counted) {
  ASSERT_TRUE(start(3));
  for (std::uint64_t i = 0; i < 10; ++i) add(numbered(i));
  const Taken taken = stop();
  EXPECT_EQ(taken.records.size(), 3u);
  EXPECT_EQ(taken.records.back().what, 2u);
  EXPECT_EQ(taken.dropped, 7u);
}

TEST(Trace, lost__is_counted_while_it_is_on) {
  lost(1);
  ASSERT_TRUE(start(3));
  for (std::uint64_t i = 0; i < 4; ++i) add(numbered(i));
  lost(2);
  EXPECT_EQ(stop().dropped, 3u);
  ASSERT_TRUE(start(3));
  EXPECT_EQ(stop().dropped, 0u);
}

TEST(Trace, add__records_of_many_threads_are_whole_and_come_once) {
  constexpr std::uint64_t kThreads = 4, kEach = 20'000;
  ASSERT_TRUE(start(kThreads * kEach));
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([t] {
      for (std::uint64_t i = 0; i < kEach; ++i) add(numbered(t * kEach + i));
    });
  for (auto& thread : threads) thread.join();
  const Taken taken = stop();
  std::set<std::uint64_t> seen;
  for (const Record& record : taken.records) {
    EXPECT_EQ(record.bytes, ~record.what);
    seen.insert(record.what);
  }
  EXPECT_EQ(seen.size(), kThreads * kEach);
  EXPECT_EQ(taken.dropped, 0u);
}

TEST(Trace, stop__while_others_write) {
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; !done; ++i) add(numbered(i));
  });
  std::size_t seen = 0;
  for (int round = 0; round < 200 || (seen == 0 && round < 20'000); ++round) {
    EXPECT_TRUE(start(64));
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    for (const Record& record : stop().records) {
      EXPECT_EQ(record.bytes, ~record.what);
      ++seen;
    }
  }
  done = true;
  writer.join();
  EXPECT_GT(seen, 0u);
}

TEST(Trace, number_of__each_name_has_one) {
  const std::uint16_t eth0 = number_of("trace-eth0"), eth1 = number_of("trace-eth1");
  EXPECT_NE(eth0, eth1);
  EXPECT_EQ(number_of("trace-eth0"), eth0);
  ASSERT_TRUE(start(1));
  const Taken taken = stop();
  EXPECT_EQ(taken.names.at(eth1), "trace-eth1");
}

TEST(Trace, a_forked_child_is_off_and_may_begin_its_own) {
  ASSERT_TRUE(start(4));
  const pid_t child = ::fork();
  if (child == 0) {
    bool good = !on() && start(4);
    add(numbered(3));
    good = good && stop().records.size() == 1;
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(on());
  stop();
}

}  // namespace
}  // namespace railweave::trace
