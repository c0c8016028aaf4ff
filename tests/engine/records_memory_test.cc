// PeerSessions with two sessions on fake lanes, while one allocation after another fails.
#include "engine/api/peer_sessions.h"

#include <gtest/gtest.h>

#include <new>

#include "shortage.h"
#include "tests/unit/engine/session_fixture.h"
#include "tests/unit/engine/talker.h"

namespace railweave::engine {
namespace {

using engine_test::Shortage;

// Two sessions over rails, each with one fake lane (PaperLane).
class PeerSessionsWithoutMemory : public SessionTest {
 protected:
  PeerSessionsWithoutMemory() { EXPECT_TRUE(rails_.open().ok()); }

  void begin() {
    for (std::size_t i = 0; i < 2; ++i) {
      papers_[i] = Paper();
      sessions_[i] = std::make_shared<Session>(config_, *this, "paper", 1 + i);
      ASSERT_TRUE(sessions_[i]->add_lane(0, {0, 0}, std::make_unique<PaperLane>(papers_[i], "lo")));
      peers_.add(sessions_[i], true);
    }
  }
  void end() {
    for (const auto& session : sessions_) {
      session->fail(Status(Code::cancelled, Scope::session, "the test ended"));
      session->close_lanes();
      peers_.remove(*session);
    }
  }
  // Returns how many rail updates the session sent to its peer.
  long told(std::size_t session) {
    for (int i = 0; i < 3; ++i) sessions_[session]->drive(1 << 20, true);
    return std::ranges::count(papers_[session].sent, FrameType::rails, &FrameHeader::type);
  }

  Reactor reactor_;
  OwnRails rails_{config_, reactor_, {loopback_rail()}};
  PeerSessions peers_{reactor_, rails_};
  Paper papers_[2];
  std::shared_ptr<Session> sessions_[2];
};

TEST_F(PeerSessionsWithoutMemory, announce_rail__one_session_ends_and_the_other_announces) {
  for (int good = 0;; ++good) {
    ASSERT_NO_FATAL_FAILURE(begin());
    bool felt = false, thrown = false;
    {
      const Shortage shortage(Shortage::here, good);
      try {
        peers_.announce_rail(0);
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
      felt = shortage.felt();
    }
    EXPECT_FALSE(thrown) << "after " << good;
    EXPECT_EQ(sessions_[0]->over() + sessions_[1]->over(), felt ? 1 : 0) << "after " << good;
    for (const std::size_t i : {0, 1}) {
      if (sessions_[i]->over()) continue;
      EXPECT_EQ(told(i), 1) << "after " << good;
    }
    end();
    if (HasFailure()) return;
    if (felt) continue;
    EXPECT_GT(good, 1) << "nothing was allocated";
    return;
  }
}

}  // namespace
}  // namespace railweave::engine
