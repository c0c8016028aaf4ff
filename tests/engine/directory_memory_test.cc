// SessionDirectory while one allocation after another fails. The test itself answers the dials (Porch).
#include "engine/connect/session_directory.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>

#include "shortage.h"
#include "tests/unit/engine/loopback_identity.h"
#include "tests/unit/engine/on_reactor.h"
#include "tests/unit/engine/talker.h"

namespace railweave::engine_test {
namespace {

using namespace std::chrono_literals;
using engine::PendingStream;
using engine::SessionDirectory;

constexpr engine::InstanceId kThere{6};

class Dialling {
 public:
  Dialling() { EXPECT_TRUE(reactor_.start().ok()); }
  ~Dialling() {
    reactor_.stop();
    directory_.stop_dialling();
  }

  SessionDirectory& directory() { return directory_; }
  std::shared_ptr<PendingStream> stream(Nanos patience = 20s) const {
    return std::make_shared<PendingStream>(engine::HandleContent{kThere, 7, {porch_.address()}}, 0, 1, Priority::normal,
                                           now() + patience);
  }
  bool nobody_is_dialled() {
    settle();
    return porch_.is_deserted();
  }
  void settle() {
    engine::on_reactor(reactor_, [] {});
  }
  // Returns true if the porch is dialled once, and receives the Hello of a first lane.
  bool is_dialled() {
    const auto hello = porch_.answer().receive();
    return hello && hello->kind == engine::Hello::Kind::first && nobody_is_dialled();
  }

 private:
  const Config config_;
  engine::LoopbackIdentity here_{config_, {5}};
  engine::Porch porch_;
  engine::Reactor reactor_;
  SessionDirectory directory_{
      reactor_, here_.self, Status(Code::cancelled, Scope::engine, "the engine ended"),
      [](const engine::PeerKey&, const engine::Hello&, std::uint64_t, engine::NewLane, SessionDirectory::Waiters) {}};
};

TEST(DirectoryWithoutMemory, open__a_failure_leaves_no_dial_that_is_never_started) {
  for (int good = 0;; ++good) {
    Dialling here;
    const auto pending = here.stream(), next = here.stream();
    bool failed = false, felt = false;
    {
      const Shortage shortage(Shortage::here, good);
      try {
        here.directory().open(pending);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      felt = shortage.felt();
    }
    ASSERT_EQ(failed, felt) << "after " << good;
    if (!felt) {
      EXPECT_GT(good, 3) << "nothing was allocated";
      return;
    }
    EXPECT_TRUE(here.nobody_is_dialled()) << "after " << good;
    here.directory().open(next);
    ASSERT_TRUE(here.is_dialled()) << "after " << good;
  }
}

TEST(DirectoryWithoutMemory, open__a_waiter_that_fails_does_not_hold_up_the_others) {
  Dialling here;
  const auto first = here.stream(), late = here.stream();
  here.directory().open(first);
  bool failed = false;
  {
    const Shortage shortage(Shortage::here, 0);
    try {
      here.directory().open(late);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
  }
  EXPECT_TRUE(failed);
  EXPECT_TRUE(here.is_dialled());
  EXPECT_TRUE(first->take().ok());
}

// open_again() must not throw: its caller is a session that ends and cannot report an error.
TEST(DirectoryWithoutMemory, open_again__the_stream_is_not_lost) {
  for (int good = 0;; ++good) {
    Dialling here;
    const auto pending = here.stream(1ms);
    bool felt = false;
    const Status why(Code::remote, Scope::session, "the session ended unanswered");
    {
      const Shortage shortage(Shortage::here, good, 3);
      ASSERT_NO_THROW(here.directory().open_again(pending, why)) << "after " << good;
      felt = shortage.felt();
    }
    here.settle();
    EXPECT_EQ(pending->take().status().message(), why.message()) << "after " << good;
    if (!felt) {
      EXPECT_GT(good, 0) << "nothing was allocated";
      return;
    }
  }
}

}  // namespace
}  // namespace railweave::engine_test
