#include "collectives/rendezvous/store.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "collectives/rendezvous/store_server.h"
#include "processes.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using collectives::Store;

// Returns a connection to the port on loopback; empty: there is none.
OwnedFd stranger_at(std::uint16_t port) {
  OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(port);
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd && ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) fd.reset();
  return fd;
}

// Sets how many descriptors this process may have, until destroyed.
class Descriptors {
 public:
  explicit Descriptors(std::size_t most) {
    ok_ = ::getrlimit(RLIMIT_NOFILE, &before_) == 0;
    const rlimit now{most, std::max<rlim_t>(most, before_.rlim_max)};
    ok_ = ok_ && ::setrlimit(RLIMIT_NOFILE, &now) == 0;
  }
  ~Descriptors() {
    if (ok_) (void)::setrlimit(RLIMIT_NOFILE, &before_);
  }
  Descriptors(const Descriptors&) = delete;
  bool ok() const { return ok_; }

 private:
  rlimit before_{};
  bool ok_ = false;
};

class StoreOver : public testing::TestWithParam<bool> {
 protected:
  static bool is_tcp() { return GetParam(); }
  // Opens the store as each process does. Over TCP the first one keeps the store.
  std::shared_ptr<Store> open() {
    auto opened = is_tcp() ? collectives::tcp_store("127.0.0.1", port_, port_ == 0, 20s, &port_)
                           : collectives::file_store(folder_.path());
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  // Claims the key as soon as it is free. False: it never was.
  static bool comes_free(Store& store) {
    for (int i = 0; i < 2000 && !store.claim("claim").ok(); ++i) std::this_thread::sleep_for(10ms);
    return store.claim("claim").ok();
  }

 private:
  Folder folder_;
  std::uint16_t port_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Places, StoreOver, testing::Bool(),
                         [](const auto& place) { return place.param ? "tcp" : "folder"; });

TEST_P(StoreOver, get__names_the_key_that_nobody_set_in_time) {
  const auto kept = open(), own = open();
  for (const Nanos patience : {Nanos(0), Nanos(100ms)}) {
    const TimePoint start = now();
    const Status late = own->get("missing", patience).status();
    EXPECT_GE(now() - start, patience);
    EXPECT_EQ(late.code(), Code::timed_out);
    EXPECT_NE(late.message().find("'missing'"), std::string::npos) << late.message();
  }
}

TEST_P(StoreOver, get_that_waits__keeps_nobody_of_its_process_from_asking) {
  const auto kept = open(), own = open();
  constexpr const char* kKeys[] = {"one", "two", "three"};
  std::vector<std::thread> waiting;
  for (const char* key : kKeys) waiting.emplace_back([&own, key] { EXPECT_TRUE(own->get(key, 20s).ok()); });
  std::this_thread::sleep_for(100ms);
  const TimePoint start = now();
  for (const char* key : kKeys) EXPECT_TRUE(own->set(key, "").ok());
  for (auto& thread : waiting) thread.join();
  EXPECT_LT(now() - start, Nanos(10s));
}

TEST_P(StoreOver, claim__is_free_again_when_its_holder_is_gone) {
  const auto kept = open();
  auto own = open();
  EXPECT_TRUE(own->claim("claim").ok());
  EXPECT_TRUE(own->claim("claim").ok());
  EXPECT_EQ(kept->claim("claim").code(), Code::exhausted);
  own.reset();
  EXPECT_TRUE(comes_free(*kept));
}

TEST_P(StoreOver, claim__is_free_again_when_its_process_was_killed) {
  const auto kept = open();
  Process holder([&](const Process::Say& say) -> std::string {
    const auto own = open();
    say(own->claim("claim").ok() ? "claimed" : "refused");
    ::pause();
    return "";
  });
  ASSERT_EQ(holder.line(), "claimed");
  EXPECT_EQ(kept->claim("claim").code(), Code::exhausted);
  holder.kill();
  EXPECT_TRUE(comes_free(*kept));
}

TEST_P(StoreOver, release__frees_what_was_released_as_often_as_claimed) {
  const auto kept = open(), own = open();
  ASSERT_TRUE(own->claim("claim").ok());
  ASSERT_TRUE(own->claim("claim").ok());
  own->release("claim");
  ASSERT_TRUE(own->set("heard", "").ok());
  EXPECT_EQ(kept->claim("claim").code(), Code::exhausted);
  own->release("claim");
  EXPECT_TRUE(comes_free(*kept));
}

TEST_P(StoreOver, forked_child__ends_and_frees_nothing_of_its_parent) {
  auto kept = open();
  const auto other = open();
  ASSERT_TRUE(kept->claim("claim").ok());
  Process child([&](const Process::Say&) -> std::string {
    const Code said = kept->claim("claim").code();
    kept->release("claim");
    kept.reset();
    return said == Code::internal ? "destroyed" : "it may claim what is its parent's";
  });
  EXPECT_EQ(child.line(), "destroyed");
  EXPECT_EQ(other->claim("claim").code(), Code::exhausted);
  EXPECT_TRUE(other->set("key", "value").ok());
  EXPECT_TRUE(kept->get("key", 0s).ok());
}

// A debugger stops the server, for example.
TEST(TcpStore, a_client_waits_its_whole_timeout_for_a_stopped_server) {
  Process keeper([](const Process::Say& say) -> std::string {
    std::uint16_t port = 0;
    const auto kept = collectives::tcp_store("127.0.0.1", 0, true, 20s, &port);
    say(std::to_string(port));
    say(std::to_string(::getpid()));
    ::raise(SIGSTOP);
    ::pause();
    return "";
  });
  const auto port = std::uint16_t(std::stoi(keeper.line()));
  const pid_t pid = std::stoi(keeper.line());
  std::thread debugger([&] {
    std::this_thread::sleep_for(6s);
    ::kill(pid, SIGCONT);
  });
  const auto own = collectives::tcp_store("127.0.0.1", port, false, 20s);
  debugger.join();
  EXPECT_TRUE(own.ok()) << own.status().message();
}

// The server closes the oldest of them to make room for clients.
TEST(TcpStore, silent_connections_keep_no_client_from_the_store) {
  constexpr std::size_t kStrangers = collectives::StoreServer::kClientsMax + 8;
  const Descriptors many(2 * kStrangers + 256);  // this process has both ends of each connection
  if (!many.ok()) GTEST_SKIP() << "needs " << 2 * kStrangers << " descriptors";
  std::uint16_t port = 0;
  auto kept = collectives::tcp_store("127.0.0.1", 0, true, 20s, &port);
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  std::vector<OwnedFd> strangers;
  while (strangers.size() < kStrangers) {
    strangers.push_back(stranger_at(port));
    ASSERT_TRUE(strangers.back());
  }
  auto own = collectives::tcp_store("127.0.0.1", port, false, 20s);
  // Under a sanitizer, on a busy machine, the server takes longer to poll so many than a client waits for its answer.
  for (const TimePoint end = now() + 30s; !own.ok() && now() < end;)
    own = collectives::tcp_store("127.0.0.1", port, false, 20s);
  ASSERT_TRUE(own.ok()) << own.status().message();
  EXPECT_TRUE((*own)->set("key", "value").ok());
  EXPECT_TRUE((*kept)->get("key", 20s).ok());
}

}  // namespace
}  // namespace railweave::collectives_test
