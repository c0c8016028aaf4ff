#include "engine/runtime/accept_loop.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <list>
#include <string>
#include <vector>

#include "base/fd.h"
#include "railweave/log.h"
#include "tests/unit/engine/on_reactor.h"

namespace railweave::engine {
namespace {

std::vector<std::string> failures_logged;  // of the reactor's thread

class AcceptLoopTest : public testing::Test {
 protected:
  AcceptLoopTest() {
    failures_logged.clear();
    EXPECT_TRUE(reactor_.start().ok());
    before_ = set_log_sink([](LogLevel level, LogTopic, const char*, int, std::string_view text) {
      if (level == LogLevel::warn) failures_logged.emplace_back(text);
    });
  }
  ~AcceptLoopTest() override {
    on_reactor(reactor_, [this] {
      for (AcceptLoop* loop : {&first_, &second_}) loop->close();
    });
    reactor_.stop();
    set_log_sink(before_);
  }
  // Accepting fails while `fails_` is true. `at`: readable at once, as a listener with a connection in its backlog.
  void open(AcceptLoop& loop, const OwnedFd& at) {
    on_reactor(reactor_, [&] {
      const auto accept_one = [this, fd = at.get()]() -> Result<bool> {
        ++calls_;
        if (fails_) return Status(Code::exhausted, Scope::engine, "no descriptors");
        eventfd_t value = 0;
        return ::eventfd_read(fd, &value) == 0;
      };
      EXPECT_TRUE(loop.open(at.get(), "cannot accept", accept_one).ok());
    });
  }
  bool calls_reach(int number) {
    return eventually_on(reactor_, [&] { return calls_ >= number; });
  }
  // Open until the reactor has stopped: its timers may arm a listener until then.
  const OwnedFd& connections(unsigned number) {
    return listeners_.emplace_back(::eventfd(number, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
  }

  std::list<OwnedFd> listeners_;
  Reactor reactor_;
  bool logged_ = false, fails_ = false;  // the reactor's thread's, like calls_
  int calls_ = 0;
  AcceptLoop first_{reactor_, logged_}, second_{reactor_, logged_};
  LogSink before_ = nullptr;
};

TEST_F(AcceptLoopTest, all_waiting_connections_are_accepted) {
  const OwnedFd& listener = connections(3);
  open(first_, listener);
  EXPECT_TRUE(calls_reach(4)) << "the last call finds none";
  on_reactor(reactor_, [] { EXPECT_TRUE(failures_logged.empty()); });
}

TEST_F(AcceptLoopTest, failures_of_two_loops_are_logged_once_and_tried_again) {
  const OwnedFd &listener = connections(1), &other = connections(1);
  fails_ = true;
  open(first_, listener);
  open(second_, other);
  EXPECT_TRUE(calls_reach(4)) << "each loop tries again";
  on_reactor(reactor_, [this] {
    EXPECT_EQ(failures_logged, std::vector<std::string>{"cannot accept, trying again every 100 ms: no descriptors"});
    fails_ = false;
  });
  EXPECT_TRUE(eventually_on(reactor_, [this] { return !logged_; })) << "a later failure is logged again";
}

TEST_F(AcceptLoopTest, close__accepts_nothing_more) {
  const OwnedFd& listener = connections(1);
  fails_ = true;
  open(first_, listener);
  ASSERT_TRUE(calls_reach(1));
  int calls = 0;
  on_reactor(reactor_, [&] {
    first_.close();
    calls = calls_;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  on_reactor(reactor_, [&] { EXPECT_EQ(calls_, calls); });
}

}  // namespace
}  // namespace railweave::engine
