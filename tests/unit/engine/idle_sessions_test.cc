// IdleSessions with sessions in which no stream was opened. The end of a session by its age has no test: it takes 10 s
// of the real clock.
#include "engine/api/idle_sessions.h"

#include "tests/unit/engine/session_fixture.h"

namespace railweave::engine {
namespace {

constexpr int kAtOnceMost = 1024;

class IdleSessionsTest : public SessionTest {
 protected:
  ~IdleSessionsTest() override {
    for (const auto& session : sessions_) session->fail(Status(Code::cancelled, Scope::session, "the test ended"));
  }
  std::shared_ptr<Session> add() {
    sessions_.push_back(std::make_shared<Session>(config_, *this, "paper " + std::to_string(sessions_.size()), 1));
    idle_.add(sessions_.back());
    return sessions_.back();
  }
  void add_many(int count) {
    while (count-- > 0) (void)add();
  }
  // Returns the numbers of the sessions that are over.
  std::vector<int> over() const {
    std::vector<int> numbers;
    for (int i = 0; i < int(sessions_.size()); ++i)
      if (sessions_[std::size_t(i)]->over()) numbers.push_back(i);
    return numbers;
  }
  static void use(const std::shared_ptr<Session>& session) { session->open(pending_stream()); }

  Reactor reactor_;
  IdleSessions idle_{reactor_};
  std::vector<std::shared_ptr<Session>> sessions_;
};

using EndedSessions = std::vector<int>;

TEST_F(IdleSessionsTest, add__beyond_the_bound_the_oldest_ends_with_one_warning) {
  add_many(kAtOnceMost);
  EXPECT_EQ(over(), EndedSessions{});
  EXPECT_TRUE(warnings.empty());
  add_many(2);
  EXPECT_EQ(over(), (EndedSessions{0, 1}));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "more than 64 sessions whose peers never opened a stream: they are ended, paper 0's first");
}

TEST_F(IdleSessionsTest, add__a_session_with_a_stream_does_not_count_and_stays) {
  const auto used = add();
  add_many(kAtOnceMost - 1);
  use(used);
  (void)add();
  EXPECT_EQ(over(), EndedSessions{});
  (void)add();
  EXPECT_EQ(over(), EndedSessions{1});
}

TEST_F(IdleSessionsTest, add__sessions_that_are_over_do_not_count_nor_live_on) {
  const auto ended = add();
  (void)add();
  const std::weak_ptr<Session> gone = sessions_.back();
  gone.lock()->fail(Status(Code::cancelled, Scope::session, "gone"));
  sessions_.pop_back();
  EXPECT_TRUE(gone.expired());
  ended->fail(Status(Code::cancelled, Scope::session, "over"));
  add_many(kAtOnceMost);
  EXPECT_EQ(over(), EndedSessions{0});
  (void)add();
  EXPECT_EQ(over(), (EndedSessions{0, 1}));
}

}  // namespace
}  // namespace railweave::engine
