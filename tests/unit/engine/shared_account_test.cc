// SharedAccount: each object plays a process, on a reactor of its own.
#include "engine/credit/shared_account.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include "base/abstract_socket.h"
#include "base/clock.h"
#include "base/local_socket.h"
#include "base/sealed_memory.h"
#include "tests/unit/engine/on_reactor.h"

namespace railweave::engine {
namespace {

int test_interface() { return 1'000'000 + ::getpid(); }  // greater than any index of an interface

constexpr char kOffered[] = "rw-offered";  // name of the memory that a test passes

// Returns the number of this process's descriptors of that memory. Allocates nothing, because a forked child calls it,
// too.
int descriptors_of_offered() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    std::array<char, 32> path{};
    std::array<char, 64> target{};
    (void)std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", fd);
    (void)!::readlink(path.data(), target.data(), target.size() - 1);
    count += std::string_view(target.data()).find(kOffered) != std::string_view::npos;
  }
  return count;
}

// The account of one process, and one place in it.
class AccountUser {
 public:
  AccountUser() {
    EXPECT_TRUE(reactor.start().ok());
    on_reactor(reactor, [&] { shared.open(); });
  }
  ~AccountUser() { end(); }
  void end() {
    on_reactor(reactor, [&] { shared.close(); });
  }
  bool serves() {
    bool serves = false;
    on_reactor(reactor, [&] { serves = shared.serves(); });
    return serves;
  }
  // Returns the number of lanes that the account counts.
  int lanes() const { return load_of(shared.account()->memory(), now()).lanes; }
  bool sees(int wanted) {
    return eventually_on(reactor, [&] {
      (void)place.renew(now());
      return lanes() == wanted;
    });
  }

  Reactor reactor;
  SharedAccount shared{reactor, test_interface()};
  AccountPlace place{shared.account()};
};

TEST(SharedAccountTest, open__the_first_serves_and_all_see_each_others_lanes) {
  AccountUser a;
  EXPECT_TRUE(a.serves());
  EXPECT_TRUE(a.sees(1));
  AccountUser b, c;
  EXPECT_FALSE(b.serves());
  EXPECT_TRUE(b.sees(2));
  EXPECT_TRUE(c.sees(3));
  EXPECT_EQ(a.lanes(), 3);
}

TEST(SharedAccountTest, open__the_memory_is_served_on_when_its_server_ends) {
  AccountUser a, b, c;
  ASSERT_TRUE(a.sees(1) && b.sees(2) && c.sees(3));
  a.end();
  EXPECT_TRUE(eventually_on(b.reactor, [&] { return b.shared.serves() || c.serves(); }));
  AccountUser late;
  EXPECT_TRUE(late.sees(4)) << "the place of the ended one, which did not leave it, counts for a minute";
  EXPECT_EQ(b.lanes(), 4);
  EXPECT_EQ(b.serves() + c.serves() + late.serves(), 1);
}

TEST(SharedAccountTest, open__of_a_process_that_is_stopped_nobody_waits) {
  auto stopped = listen_abstract(SharedAccount::name(test_interface()));
  ASSERT_TRUE(stopped.ok());
  AccountUser a;
  EXPECT_TRUE(a.sees(1));
  EXPECT_FALSE(a.serves());
}

TEST(SharedAccountTest, open__memory_of_another_size_is_not_used) {
  auto other = listen_abstract(SharedAccount::name(test_interface()));
  ASSERT_TRUE(other.ok());
  AccountUser a;
  Result<OwnedFd> accepted = OwnedFd();
  ASSERT_TRUE(eventually_on(a.reactor, [&] { return (accepted = accept_local(other->get())).ok() && *accepted; }));
  auto small = make_sealed_memory(4 * KiB);
  ASSERT_TRUE(small.ok());
  constexpr std::array<std::byte, 1> word{};
  ASSERT_EQ(send_with_fd(accepted->get(), word, small->get()), 1);
  std::array<std::byte, 1> end{};
  EXPECT_TRUE(eventually_on(a.reactor, [&] { return ::recv(accepted->get(), end.data(), end.size(), 0) == 0; }))
      << "it hangs up";
  EXPECT_TRUE(a.sees(1)) << "and goes on alone";
  other = Status(Code::remote, Scope::engine, "closed");
  EXPECT_TRUE(eventually_on(a.reactor, [&] { return a.shared.serves(); })) << "until the name is free";
}

TEST(SharedAccountTest, close__memory_without_its_pipe_is_closed_too) {
  auto other = listen_abstract(SharedAccount::name(test_interface()));
  ASSERT_TRUE(other.ok());
  AccountUser a;
  Result<OwnedFd> accepted = OwnedFd();
  ASSERT_TRUE(eventually_on(a.reactor, [&] { return (accepted = accept_local(other->get())).ok() && *accepted; }));
  auto memory = make_sealed_memory(sizeof(AccountMemory), kOffered);
  ASSERT_TRUE(memory.ok());
  constexpr std::array<std::byte, 1> word{};
  ASSERT_EQ(send_with_fd(accepted->get(), word, memory->get()), 1);
  ASSERT_TRUE(eventually_on(a.reactor, [&] { return descriptors_of_offered() == 2; })) << "the test's, and the user's";
  const pid_t child = ::fork();
  if (child == 0) ::_exit(descriptors_of_offered());
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 1) << "a forked child has the test's alone";
  a.end();
  EXPECT_EQ(descriptors_of_offered(), 1);
}

}  // namespace
}  // namespace railweave::engine
