// Engines that find no free TCP port or no free descriptor. Tests that restrict their process run in a child process.
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"
#include "forked.h"
#include "two_engines.h"

namespace railweave::engine_test {
namespace {

using namespace std::chrono_literals;

TEST(Exhaustion, a_port_range_that_is_used_up_is_named) {
  // The first of two TCP ports that are free now.
  std::uint16_t first = 0;
  for (std::uint16_t candidate = 42100; candidate < 43000 && first == 0; candidate += 2) {
    bool both = true;
    for (std::uint16_t port : {candidate, std::uint16_t(candidate + 1)}) {
      OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in any{};
      any.sin_family = AF_INET;
      any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      any.sin_port = htons(port);
      both = both && bind(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
    }
    if (both) first = candidate;
  }
  ASSERT_NE(first, 0);
  Config config = loopback();
  config.ports = {first, std::uint16_t(first + 1)};
  config.family = AddressFamily::v4;
  const auto a = start_engine(config), b = start_engine(config);
  ASSERT_TRUE(a && b);
  const TimePoint begin = now();
  const auto third = Engine::start(config);
  EXPECT_LT(now() - begin, deadline(3s));
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.status().code(), Code::exhausted);
  EXPECT_NE(third.status().message().find(std::to_string(first) + "-" + std::to_string(first + 1)), std::string::npos)
      << third.status().message();
  Ends ends = join(*a, *b);
  ASSERT_TRUE(ends);
  EXPECT_TRUE(transfer(ends, 1000, 1));
}

TEST(Exhaustion, ports_for_privileged_processes_are_named_as_such) {
  Forked child([](Wire&) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2]{};
    if (syscall(SYS_capset, &header, none) != 0) return 1;
    Config config = loopback();
    config.ports = {1, 9};
    const auto engine = Engine::start(config);
    const std::string said = engine.ok() ? "an engine" : engine.status().message();
    if (said.find("RAILWEAVE_PORTS") != said.npos && said.find("CAP_NET_BIND_SERVICE") != said.npos) return 0;
    std::fprintf(stderr, "%s\n", said.c_str());
    return 2;
  });
  EXPECT_EQ(child.wait(), 0);
}

void allow_descriptors(rlim_t count) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min(count, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Takes every free descriptor of this process, until its engine has closed no more for 100 ms.
std::vector<OwnedFd> take_all_descriptors() {
  std::vector<OwnedFd> hoard;
  for (TimePoint last = now(); now() - last < 100ms; std::this_thread::sleep_for(5ms)) {
    while (OwnedFd fd{dup(1)}) hoard.push_back(std::move(fd)), last = now();
  }
  return hoard;
}

TEST(Exhaustion, no_engine_starts_and_nothing_hangs_without_descriptors) {
  Forked child([](Wire&) {
    alarm(30);
    const int used = open_descriptors();
    bool started = false;
    for (int spare = 0; spare < 12; ++spare) {
      allow_descriptors(rlim_t(used + 1 + spare));
      const auto engine = Engine::start(loopback());
      started = started || engine.ok();
      if (engine.ok()) continue;
      const Status& s = engine.status();
      if (s.message().empty() || (s.code() != Code::system && s.code() != Code::exhausted)) {
        std::fprintf(stderr, "with %d to spare: %s\n", spare, s.message().c_str());
        return 1;
      }
      if (s.message().find("descriptor") == std::string::npos && s.message().find("open files") == std::string::npos) {
        std::fprintf(stderr, "with %d to spare the message does not say what is missing: %s\n", spare,
                     s.message().c_str());
        return 2;
      }
    }
    if (open_descriptors() != used) return 3;
    return started ? 0 : 4;
  });
  EXPECT_EQ(child.wait(), 0);
}

// The listener's process has no descriptors: connections wait and transfers go on. Once descriptors are free again, the
// waiting connections are accepted.
TEST(Exhaustion, an_engine_accepts_again_once_there_are_descriptors) {
  Forked child([](Wire& wire) {
    alarm(60);
    const auto engine = start_engine();
    if (!engine) return 1;
    Handle handle;
    auto listener = engine->listen(0, handle);
    if (!listener.ok() || !wire.say(handle)) return 2;
    std::unique_ptr<RecvStream> recv;
    const auto accept = [&] {
      auto accepted = (*listener)->accept();
      if (accepted.ok()) recv = std::move(*accepted);
      return bool(recv);
    };
    if (!eventually(accept)) return 3;
    std::unique_ptr<RecvStream> first = std::move(recv);
    allow_descriptors(64);
    std::vector<OwnedFd> hoard = take_all_descriptors();
    (void)wire.say(char{1});
    std::vector<std::byte> place(200'000);
    for (unsigned i = 0; i < 20; ++i) {
      const auto received = finish(*first, post_recv(*first, place));
      if (!received.ok() || place != pattern(200'000, i)) return 4;
    }
    if (accept()) return 5;
    (void)wire.receive<char>();
    hoard.clear();
    if (!eventually(accept)) return 6;
    if (!finish(*recv, post_recv(*recv, place)).ok()) return 7;
    return 0;
  });
  const auto handle = child.wire().receive<Handle>();
  ASSERT_TRUE(handle);
  const auto a = start_engine(), late = start_engine();
  ASSERT_TRUE(a && late);
  const auto connect = [&](Engine& from) {
    auto connector = from.connect(0, *handle);
    EXPECT_TRUE(connector.ok());
    return connector.ok() ? std::move(*connector) : nullptr;
  };
  const auto settle = [](Connector& connector) {
    std::unique_ptr<SendStream> send;
    Status failed;
    eventually([&] {
      auto polled = connector.poll();
      if (!polled.ok()) failed = polled.status();
      if (polled.ok()) send = std::move(*polled);
      return send || !failed.ok();
    });
    EXPECT_TRUE(send) << failed.message();
    return send;
  };
  auto connector = connect(*a);
  ASSERT_TRUE(connector);
  const auto send = settle(*connector);
  ASSERT_TRUE(send);
  ASSERT_TRUE(child.wire().receive<char>());
  auto waiting = connect(*late);
  ASSERT_TRUE(waiting);
  for (unsigned i = 0; i < 20; ++i) {
    const auto data = pattern(200'000, i);
    ASSERT_TRUE(finish(*send, post_send(*send, data)).ok());
  }
  std::this_thread::sleep_for(300ms);
  ASSERT_TRUE(child.wire().say(char{1})) << "the child ended with " << child.wait();
  const auto late_send = settle(*waiting);
  ASSERT_TRUE(late_send);
  const auto data = pattern(200'000, 99);
  EXPECT_TRUE(finish(*late_send, post_send(*late_send, data)).ok());
  EXPECT_EQ(child.wait(), 0);
}

TEST(Exhaustion, a_dialler_out_of_descriptors_says_so) {
  Forked child([](Wire& wire) {
    alarm(60);
    const auto handle = wire.receive<Handle>();
    Config config = loopback();
    config.connect_timeout = 2s;
    const auto engine = start_engine(config);
    if (!handle || !engine) return 1;
    allow_descriptors(64);
    const std::vector<OwnedFd> hoard = take_all_descriptors();
    auto connector = engine->connect(0, *handle);
    if (!connector.ok()) return 2;
    Status failed;
    if (!eventually(
            [&] {
              auto polled = (*connector)->poll();
              if (!polled.ok()) failed = polled.status();
              return !failed.ok();
            },
            10s))
      return 3;
    if (failed.message().find("ulimit -n") != std::string::npos) return 0;
    std::fprintf(stderr, "%s\n", failed.message().c_str());
    return 4;
  });
  const auto engine = start_engine();
  ASSERT_TRUE(engine);
  Handle handle;
  auto listener = engine->listen(0, handle);
  ASSERT_TRUE(listener.ok());
  ASSERT_TRUE(child.wire().say(handle));
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace railweave::engine_test
