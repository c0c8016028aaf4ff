// Forks: a child keeps none of its parent's connections open, and may start an engine of its own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/clock.h"
#include "forked.h"
#include "two_engines.h"

namespace railweave::engine_test {
namespace {

using namespace std::chrono_literals;

// A process dials the test, forks a child that sleeps, sends a message and exits. The test's receive fails though the
// sleeping child lives.
TEST(Fork, a_sleeping_child_keeps_no_connection_of_its_parent_open) {
  Forked parent([](Wire& wire) {
    const auto handle = wire.receive<Handle>();
    auto engine = Engine::start(loopback());
    if (!handle || !engine.ok()) return 1;
    auto connector = (*engine)->connect(0, *handle);
    if (!connector.ok()) return 2;
    std::unique_ptr<SendStream> send;
    if (!eventually([&] {
          auto polled = (*connector)->poll();
          if (polled.ok()) send = std::move(*polled);
          return bool(send);
        }))
      return 3;
    const pid_t sleeper = fork();
    if (sleeper == 0) {
      alarm(60);
      for (;;) pause();
    }
    const auto data = pattern(300'000, 5);
    const bool sent = finish(*send, post_send(*send, data)).ok();
    (void)wire.say(sleeper);
    if (!sent) return 4;
    (void)wire.receive<char>();
    _exit(0);
  });
  const auto engine = start_engine();
  ASSERT_TRUE(engine);
  Handle handle;
  auto listener = engine->listen(0, handle);
  ASSERT_TRUE(listener.ok());
  ASSERT_TRUE(parent.wire().say(handle));
  std::unique_ptr<RecvStream> recv;
  ASSERT_TRUE(eventually([&] {
    auto accepted = (*listener)->accept();
    if (accepted.ok()) recv = std::move(*accepted);
    return bool(recv);
  }));
  std::vector<std::byte> place(300'000), next(100);
  const auto received = finish(*recv, post_recv(*recv, place));
  ASSERT_TRUE(received.ok()) << received.status().message();
  EXPECT_TRUE(place == pattern(300'000, 5));
  const auto sleeper = parent.wire().receive<pid_t>();
  ASSERT_TRUE(sleeper);
  Request* const receive = post_recv(*recv, next);
  ASSERT_TRUE(parent.wire().say(char{1}));
  const TimePoint begin = now();
  EXPECT_EQ(finish(*recv, receive, 5s).status().code(), Code::remote);
  EXPECT_LT(now() - begin, deadline(1s));
  EXPECT_EQ(::kill(*sleeper, 0), 0) << "the sleeper still lives";
  ::kill(*sleeper, SIGKILL);
}

// Runs in a child process, so that the fork below copies no engine of another test.
int child_of_an_engine(Wire&) {
  std::shared_ptr<Engine> a = start_engine(), b = start_engine();
  if (!a || !b) return 1;
  Ends ends = join(*a, *b);
  if (!ends) return 2;
  const pid_t pid = fork();
  if (pid != 0) {
    int status = 0;
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 100 + (WIFEXITED(status) ? WEXITSTATUS(status) : 99);
    return transfer(ends, 1'000'000, 3) ? 0 : 3;
  }
  alarm(20);
  // The parent's engine is dead in the child: its calls fail.
  std::byte byte{};
  Handle handle;
  if (ends.send->post(&byte, 1).ok()) return 10;
  if (a->listen(0, handle).ok()) return 11;
  // Destroying the dead engine closes no descriptor that the child opened.
  std::vector<int> own;
  for (int i = 0; i < 32; ++i) own.push_back(dup(1));
  ends = {};
  a.reset();
  b.reset();
  for (int fd : own)
    if (fcntl(fd, F_GETFD) < 0) return 12;
  // A new engine works.
  const auto c = start_engine(), d = start_engine();
  if (!c || !d) return 13;
  Ends fresh = join(*c, *d);
  if (!fresh) return 14;
  return transfer(fresh, 100'000, 1) ? 0 : 15;
}

TEST(Fork, a_child_of_an_engine_may_make_its_own) {
  Forked child(child_of_an_engine);
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace railweave::engine_test
