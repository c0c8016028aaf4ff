// Engines on one host over shared memory.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "dialling_peer.h"

namespace railweave::engine_test {
namespace {

using namespace std::chrono_literals;

Config shm(bool on = true) {
  Config config = loopback();
  config.shm = on;
  return config;
}

// Returns the rail of each lane that `engine` has; "shm" for a lane of shared memory.
std::vector<std::string> rails(const Engine& engine) {
  std::vector<std::string> all;
  for (const SessionStats& session : engine.stats().sessions)
    for (const LaneStats& lane : session.lanes) all.push_back(lane.rail);
  return all;
}

using Rails = std::vector<std::string>;

TEST(Shm, messages_of_every_size_go_both_ways) {
  const auto a = start_engine(shm()), b = start_engine(shm());
  ASSERT_TRUE(a && b);
  Ends there = join(*a, *b), back = join(*b, *a);
  ASSERT_TRUE(there && back);
  unsigned seed = 1;
  for (std::size_t size : {0u, 1u, 8u, 4096u, 16384u, 16385u, 65536u, 65537u, 262144u, 1000000u, 20000000u}) {
    EXPECT_TRUE(transfer(there, size, ++seed)) << size;
    EXPECT_TRUE(transfer(back, size, ++seed)) << size;
  }
  EXPECT_EQ(rails(*a), Rails{"shm"});
  EXPECT_EQ(rails(*b), Rails{"shm"});
}

TEST(Shm, is_off_unless_both_ends_have_it_on) {
  for (const auto& [first, second] : {std::pair(false, false), std::pair(true, false), std::pair(false, true)}) {
    const auto a = start_engine(shm(first)), b = start_engine(shm(second));
    ASSERT_TRUE(a && b);
    Ends ends = join(*a, *b);
    ASSERT_TRUE(ends);
    EXPECT_TRUE(transfer(ends, 100'000, 1));
    EXPECT_EQ(rails(*a), Rails{"lo"});
  }
  EXPECT_FALSE(Config().shm.has_value());
}

TEST(Shm, an_engine_reaches_itself) {
  const auto a = start_engine(shm());
  ASSERT_TRUE(a);
  Ends ends = join(*a, *a);
  ASSERT_TRUE(ends);
  EXPECT_TRUE(transfer(ends, 1'000'000, 1));
  EXPECT_EQ(rails(*a), (Rails{"shm", "shm"})) << "two halves";
}

TEST(Shm, crossing_dials_make_one_session) {
  for (int round = 0; round < 20; ++round) {
    const auto a = start_engine(shm()), b = start_engine(shm());
    ASSERT_TRUE(a && b);
    Handle to_a, to_b;
    auto at_a = a->listen(0, to_a), at_b = b->listen(0, to_b);
    ASSERT_TRUE(at_a.ok() && at_b.ok());
    auto from_a = a->connect(0, to_b), from_b = b->connect(0, to_a);
    ASSERT_TRUE(from_a.ok() && from_b.ok());
    Ends there = meet(**from_a, **at_b), back = meet(**from_b, **at_a);
    ASSERT_TRUE(there && back);
    EXPECT_TRUE(transfer(there, 100'000, 1) && transfer(back, 100'000, 2));
    EXPECT_EQ(rails(*a), Rails{"shm"});
    EXPECT_EQ(rails(*b), Rails{"shm"});
  }
}

// No caller polls while the message is under way: the engines' threads wake each other.
TEST(Shm, messages_posted_and_left_alone_arrive) {
  const auto a = start_engine(shm()), b = start_engine(shm());
  ASSERT_TRUE(a && b);
  Ends ends = join(*a, *b);
  ASSERT_TRUE(ends);
  for (int round = 0; round < 30; ++round) {
    const auto data = pattern(round % 3 == 0 ? 100 : 6'000'000, unsigned(round));
    std::vector<std::byte> place(data.size());
    std::this_thread::sleep_for(5ms);  // both reactors fall asleep
    Request* const receive = post_recv(*ends.recv, place);
    Request* const send = post_send(*ends.send, data);
    std::this_thread::sleep_for(round % 2 ? 30ms : 0ms);
    const auto received = finish(*ends.recv, receive, 5s);
    ASSERT_TRUE(received.ok()) << received.status().message();
    EXPECT_TRUE(place == data);
    ASSERT_TRUE(finish(*ends.send, send, 5s).ok());
  }
}

// The caller withdraws its memory while the peer is in the middle of reading it; other streams go on.
TEST(Shm, withdrawn_memory_is_not_waited_for) {
  const auto a = start_engine(shm()), b = start_engine(shm());
  ASSERT_TRUE(a && b);
  for (int round = 0; round < 50; ++round) {
    Ends doomed = join(*a, *b), other = join(*a, *b);
    ASSERT_TRUE(doomed && other);
    auto data = pattern(4'000'000, unsigned(round));
    std::vector<std::byte> place(data.size());
    Request* const receive = post_recv(*doomed.recv, place);
    Request* const send = post_send(*doomed.send, data);
    bool sent = false;  // a request must not be tested after it was done
    for (int i = 0; i < round && !sent; ++i) sent = doomed.send->test(send)->done;
    const TimePoint begin = now();
    doomed.send->withdraw(data.data(), data.size());
    EXPECT_LT(now() - begin, deadline(500ms));
    std::ranges::fill(data, std::byte{0xEE});
    const bool whole = finish(*doomed.recv, receive).ok();  // the peer may have read all of it before
    EXPECT_TRUE(!whole || place == pattern(place.size(), unsigned(round)));
    EXPECT_TRUE(transfer(other, 300'000, 7));
  }
}

TEST(Shm, messages_go_between_two_processes) {
  Forked peer([](Wire& wire) {
    return dial_and(wire, shm(), [&](Engine& engine, SendStream& send) {
      for (int i = 0; i < 40; ++i) {
        const auto data = pattern(std::size_t(i) * 50'000, unsigned(i));
        if (!finish(send, post_send(send, data)).ok()) return 1;
      }
      return rails(engine) == Rails{"shm"} ? 0 : 2;
    });
  });
  Host host(shm());
  ASSERT_TRUE(host.welcome(peer));
  EXPECT_EQ(rails(*host.engine), Rails{"shm"});
  for (int i = 0; i < 40; ++i) {
    const auto data = pattern(std::size_t(i) * 50'000, unsigned(i));
    std::vector<std::byte> place(data.size());
    const auto received = finish(*host.recv, post_recv(*host.recv, place));
    ASSERT_TRUE(received.ok()) << received.status().message();
    ASSERT_TRUE(place == data) << i;
  }
  const TimePoint begin = now();
  EXPECT_EQ(peer.wait(), 0);
  EXPECT_LT(now() - begin, sooner_than_waiting(900ms)) << "a farewell that nobody answered";
}

TEST(Shm, a_killed_peer_is_an_error_soon) {
  for (const bool polling : {true, false}) {
    Forked peer([](Wire& wire) {
      return dial_and(wire, shm(), [&](Engine&, SendStream& send) {
        const auto data = pattern(64 << 20, 1);
        (void)wire.say(char{1});
        return finish(send, post_send(send, data)).ok() ? 0 : 1;
      });
    });
    Host host(shm());
    ASSERT_TRUE(host.welcome(peer));
    ASSERT_TRUE(peer.wire().receive<char>());
    std::vector<std::byte> place(64 << 20), more(100);
    Request* const receive = post_recv(*host.recv, place);
    Request* const next = post_recv(*host.recv, more);
    Result<Progress> begun = host.recv->test(receive);
    ASSERT_TRUE(begun.ok()) << begun.status().message();
    if (!polling) std::this_thread::sleep_for(100ms);
    peer.kill(SIGKILL);
    const TimePoint begin = now();
    if (!polling) std::this_thread::sleep_for(300ms);
    const Status first = begun->done ? Status() : finish(*host.recv, receive, 5s).status();  // may be complete
    const auto second = finish(*host.recv, next, 5s);
    const Code heard = second.status().code();
    EXPECT_TRUE(heard == Code::remote || (first.ok() && heard == Code::left)) << second.status().message();
    EXPECT_LT(now() - begin, deadline(1s)) << first.message();
  }
}

TEST(Shm, a_stopped_peer_holds_up_no_withdrawal) {
  constexpr int kMessages = 8;  // the last one is never received
  Forked peer([](Wire& wire) {
    const auto handle = wire.receive<Handle>();
    auto engine = Engine::start(shm());
    if (!engine.ok() || !handle) return 1;
    Handle own;
    auto listener = (*engine)->listen(0, own);
    if (!listener.ok() || !wire.say(own)) return 2;
    std::unique_ptr<RecvStream> recv;
    eventually([&] {
      auto accepted = (*listener)->accept();
      if (accepted.ok()) recv = std::move(*accepted);
      return bool(recv);
    });
    if (!recv) return 3;
    std::vector<std::byte> place(64 << 20);
    for (int i = 1; i < kMessages; ++i)
      if (!finish(*recv, post_recv(*recv, place), 30s).ok()) return 4;
    (void)wire.receive<char>();
    return 0;
  });
  const auto engine = start_engine(shm());
  ASSERT_TRUE(engine && peer.wire().say(Handle{}));
  const auto handle = peer.wire().receive<Handle>();
  ASSERT_TRUE(handle);
  auto connector = engine->connect(0, *handle);
  ASSERT_TRUE(connector.ok());
  std::unique_ptr<SendStream> send;
  ASSERT_TRUE(eventually([&] {
    auto polled = (*connector)->poll();
    if (polled.ok()) send = std::move(*polled);
    return bool(send);
  }));
  const auto data = pattern(64 << 20, 1);
  Request* last = nullptr;
  for (int i = 0; i < kMessages; ++i) last = post_send(*send, data);
  for (const TimePoint until = now() + 3ms; now() < until;) {
    Result<Progress> progress = send->test(last);
    ASSERT_TRUE(progress.ok() && !progress->done) << progress.status().message();
  }
  peer.kill(SIGSTOP);
  const TimePoint begin = now();
  send->withdraw(data.data(), data.size());
  EXPECT_LT(now() - begin, deadline(500ms));
  const Status ended = finish(*send, last, 5s).status();
  EXPECT_EQ(ended.code(), Code::cancelled) << ended.message();
}

// Descriptors that a child of the peer keeps open do not count as a sign that the peer lives.
TEST(Shm, a_sleeping_child_does_not_keep_its_parents_lane_open) {
  Forked peer([](Wire& wire) {
    return dial_and(wire, shm(), [&](Engine&, SendStream& send) {
      const pid_t sleeper = fork();
      if (sleeper == 0) {
        alarm(60);
        for (;;) pause();
      }
      const bool sent = finish(send, post_send(send, pattern(300'000, 5))).ok();
      (void)wire.say(sleeper);
      if (!sent) return 4;
      (void)wire.receive<char>();
      _exit(0);
      return 0;
    });
  });
  Host host(shm());
  ASSERT_TRUE(host.welcome(peer));
  std::vector<std::byte> place(300'000), next(100);
  ASSERT_TRUE(finish(*host.recv, post_recv(*host.recv, place)).ok());
  EXPECT_TRUE(place == pattern(300'000, 5));
  const auto sleeper = peer.wire().receive<pid_t>();
  ASSERT_TRUE(sleeper);
  Request* const receive = post_recv(*host.recv, next);
  ASSERT_TRUE(peer.wire().say(char{1}));
  const TimePoint begin = now();
  EXPECT_EQ(finish(*host.recv, receive, 5s).status().code(), Code::remote);
  EXPECT_LT(now() - begin, deadline(1s));
  EXPECT_EQ(::kill(*sleeper, 0), 0) << "the sleeper still lives";
  ::kill(*sleeper, SIGKILL);
}

TEST(Shm, another_user_gets_tcp) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  Forked peer([](Wire& wire) {
    if (setgid(65534) != 0 || setuid(65534) != 0) return 80;
    return dial_and(wire, shm(), [&](Engine& engine, SendStream& send) {
      if (!finish(send, post_send(send, pattern(300'000, 5))).ok()) return 1;
      return rails(engine) == Rails{"lo"} ? 0 : 2;
    });
  });
  Host host(shm());
  ASSERT_TRUE(host.welcome(peer));
  EXPECT_EQ(rails(*host.engine), Rails{"lo"});
  std::vector<std::byte> place(300'000);
  ASSERT_TRUE(finish(*host.recv, post_recv(*host.recv, place)).ok());
  EXPECT_TRUE(place == pattern(300'000, 5));
  EXPECT_EQ(peer.wait(), 0);
}

}  // namespace
}  // namespace railweave::engine_test
