// Two processes' halves, each on a reactor of its own.
#include "engine/credit/shared_account.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

#include "base/abstract_socket.h"
#include "base/clock.h"
#include "base/local_socket.h"
#include "base/sealed_memory.h"
#include "tests/unit/engine/on_reactor.h"

namespace railweave::engine {
namespace {

int test_interface() { return 1'000'000 + ::getpid(); }  // no host has so many

// What one process has.
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
  // Lanes that its account counts.
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

}  // namespace
}  // namespace railweave::engine
