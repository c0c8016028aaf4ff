// shut_down() with a session on a fake lane, and a peer that answers or does not.
#include "engine/session/shutdown.h"

#include <new>

#include "base/clock.h"
#include "tests/unit/engine/on_reactor.h"
#include "tests/unit/engine/session_fixture.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;
using Leavers = std::vector<std::shared_ptr<Session>>;

class ShutdownTest : public SessionTest {
 protected:
  ShutdownTest() { EXPECT_TRUE(reactor_.start().ok()); }
  ~ShutdownTest() override { reactor_.stop(); }

  long goodbyes() const { return std::ranges::count(paper_[0].sent, FrameType::goodbye, &FrameHeader::type); }

  Reactor reactor_;
};

TEST_F(ShutdownTest, stop_and_close_run_once_in_order_on_the_reactors_thread) {
  std::thread::id reactors;
  on_reactor(reactor_, [&] { reactors = std::this_thread::get_id(); });
  std::string ran;
  shut_down(
      reactor_,
      [&] {
        EXPECT_EQ(std::this_thread::get_id(), reactors);
        ran += "stop ";
        return Leavers();
      },
      [&] {
        EXPECT_EQ(std::this_thread::get_id(), reactors);
        ran += "close";
      });
  EXPECT_EQ(ran, "stop close");
}

TEST_F(ShutdownTest, a_peer_that_leaves_too_is_not_waited_for) {
  add_lanes(1);
  const TimePoint begun = now();
  long said = 0;
  shut_down(
      reactor_,
      [this] {
        paper_[0].says({.type = FrameType::goodbye});
        paper_[0].ending = Status(Code::remote, Scope::lane, "closed by the peer");
        return Leavers{session_};
      },
      [&] { said = session_->over(); });
  EXPECT_EQ(said, 1) << "its lanes were closed before it was over";
  EXPECT_LT(now() - begun, 1s);
}

TEST_F(ShutdownTest, a_peer_that_never_answers_is_awaited_for_a_second) {
  add_lanes(1);
  const TimePoint begun = now();
  long said = 0;
  shut_down(
      reactor_, [this] { return Leavers{session_}; }, [&] { said = goodbyes(); });
  EXPECT_EQ(said, 1);
  EXPECT_GE(now() - begun, 1s);
  EXPECT_LT(now() - begun, 9s) << "as for a reactor that is busy";
}

TEST_F(ShutdownTest, without_memory_for_stop_what_is_left_is_closed_all_the_same) {
  bool closed = false;
  const TimePoint begun = now();
  shut_down(
      reactor_, []() -> Leavers { throw std::bad_alloc(); }, [&] { closed = true; });
  EXPECT_TRUE(closed);
  EXPECT_LT(now() - begun, 9s);
}

}  // namespace
}  // namespace railweave::engine
