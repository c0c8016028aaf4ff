// Engines while one allocation after another fails: nothing terminates or hangs, and connects work afterwards. Each
// test runs in a child process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <new>

#include "base/clock.h"
#include "forked.h"
#include "shortage.h"
#include "two_engines.h"

namespace railweave::engine_test {
namespace {

using namespace std::chrono_literals;

// Connects the engines. Returns empty ends if that fails or takes longer than `patience`.
Ends try_to_join(Engine& from, Engine& to, Nanos patience) {
  Ends ends;
  try {
    Handle handle;
    auto listener = to.listen(0, handle);
    if (!listener.ok()) return ends;
    auto connector = from.connect(0, handle);
    if (!connector.ok()) return ends;
    (void)eventually(
        [&] {
          if (!ends.send) {
            auto polled = (*connector)->poll();
            if (!polled.ok()) return true;
            ends.send = std::move(*polled);
          }
          if (!ends.recv) {
            auto accepted = (*listener)->accept();
            if (!accepted.ok()) return true;
            ends.recv = std::move(*accepted);
          }
          return bool(ends);
        },
        patience);
  } catch (const std::bad_alloc&) {
  }
  return ends;
}

// Connects when there is memory again. A session that is still ending for lack of memory may fail the first attempt.
Ends join_again(Engine& from, Engine& to) {
  Ends ends;
  for (int attempts = 0; attempts < 3 && !ends; ++attempts) {
    if (attempts > 0) usleep(20'000);
    ends = try_to_join(from, to, 15s);
  }
  return ends;
}

#define STORY(condition)                                        \
  do {                                                          \
    if (!(condition)) {                                         \
      std::fprintf(stderr, "after %d: " #condition "\n", good); \
      return 1;                                                 \
    }                                                           \
  } while (false)

int ends_close(int bad) {
  alarm(100);
  const auto a = start_engine(), b = start_engine();
  std::vector<std::byte> place(1'000'000);
  const auto data = pattern(1'000'000, 1);
  for (int good = 0;; ++good) {
    Ends ends = join_again(*a, *b);
    STORY(ends);
    Handle handle;
    auto listener = b->listen(0, handle);
    auto connector = a->connect(0, handle);
    STORY(listener.ok() && connector.ok());
    for (int i = 0; i < 3; ++i) STORY(post_send(*ends.send, data));
    STORY(post_recv(*ends.recv, place));
    bool felt;
    {
      const Shortage shortage(Shortage::here, good, bad);
      ends.recv.reset();
      ends.send.reset();
      connector->reset();
      listener->reset();
      felt = shortage.felt();
    }
    if (!felt) return good > 0 ? 0 : 2;
  }
}

TEST(WithoutMemory, streams_and_listeners_close) {
  for (const int bad : {1, 20}) {
    Forked child([bad](Wire&) { return ends_close(bad); });
    EXPECT_EQ(child.wait(), 0) << bad << " allocations fail";
  }
}

int engines_leave(Shortage::Where at) {
  alarm(100);
  for (int good = 0;; ++good) {
    auto a = start_engine(), b = start_engine();
    Ends ends = join_again(*a, *b);
    STORY(ends);
    ends = {};
    bool felt;
    const TimePoint begin = now();
    {
      const Shortage shortage(at, good, 3);
      a.reset();
      b.reset();
      felt = shortage.felt();
    }
    STORY(now() - begin < 15s);
    if (!felt) return good > 0 ? 0 : 2;
  }
}

TEST(WithoutMemory, engines_leave) {
  for (const Shortage::Where at : {Shortage::here, Shortage::elsewhere}) {
    Forked child([at](Wire&) { return engines_leave(at); });
    EXPECT_EQ(child.wait(), 0) << (at == Shortage::here ? "the caller's thread" : "the engines' threads");
  }
}

int connects_fail() {
  alarm(100);
  for (int good = 0;; ++good) {
    const auto a = start_engine(), b = start_engine();
    bool felt;
    {
      const Shortage shortage(Shortage::here, good);
      (void)try_to_join(*a, *b, 50ms);
      felt = shortage.felt();
    }
    STORY(join_again(*a, *b));
    if (!felt) return good > 0 ? 0 : 2;
    if (good > 20) good += 2;  // later allocations repeat: every third one is enough
  }
}

TEST(WithoutMemory, a_failed_connect_does_not_hinder_the_next) {
  Forked child([](Wire&) { return connects_fail(); });
  EXPECT_EQ(child.wait(), 0);
}

// Allocations of the engines' threads fail: in listeners, handshakes and sessions. The engine gives up or begins again.
int listeners_reopen(int first) {
  alarm(100);
  const auto a = start_engine();
  for (int good = first; good < 200; good += 4) {
    const auto b = start_engine();
    STORY(a && b);
    {
      const Shortage shortage(Shortage::elsewhere, good, 2);
      (void)try_to_join(*a, *b, 50ms);
      if (!shortage.felt() && good > 60) return 0;
    }
    Ends ends = join_again(*a, *b);
    STORY(ends);
    STORY(transfer(ends, 1000, 1));
  }
  return 0;
}

TEST(WithoutMemory, engines_accept_connections_again) {
  Forked even([](Wire&) { return listeners_reopen(0); }), odd([](Wire&) { return listeners_reopen(1); });
  Forked third([](Wire&) { return listeners_reopen(2); }), fourth([](Wire&) { return listeners_reopen(3); });
  for (Forked* child : {&even, &odd, &third, &fourth}) EXPECT_EQ(child->wait(), 0);
}

}  // namespace
}  // namespace railweave::engine_test
