// PeerSessions with sessions on fake lanes. The reactor does not run.
#include "engine/api/peer_sessions.h"

#include "tests/unit/engine/session_fixture.h"
#include "tests/unit/engine/talker.h"

namespace railweave::engine {
namespace {

class PeerSessionsTest : public SessionTest {
 protected:
  PeerSessionsTest() { EXPECT_TRUE(rails_.open().ok()); }
  ~PeerSessionsTest() override {
    peers_.clear();
    within_host_->fail(Status(Code::cancelled, Scope::session, "the test ended"));
    within_host_->close_lanes();
  }
  static std::vector<Rail> two_loopback_rails() {
    std::vector<Rail> rails{loopback_rail(), loopback_rail()};
    rails[1].name = "lo1";
    return rails;
  }
  // Gives each session a lane: paper_[0] to session_, which goes by rails, and paper_[1] to within_host_.
  void add_both() {
    add_lanes(1);
    ASSERT_TRUE(within_host_->add_lane(0, {0, 0}, std::make_unique<PaperLane>(paper_[1], "shm")));
    peers_.add(session_, true);
    peers_.add(within_host_, false);
  }
  // Returns the numbers of the rails that lane `paper` announced, in order.
  std::vector<int> told(int paper) {
    drive(3);
    for (int i = 0; i < 3; ++i) within_host_->drive(1 << 20, true);
    std::vector<int> rails;
    for (const FrameHeader& h : paper_[paper].sent)
      if (h.type == FrameType::rails) rails.push_back(protocol::RailsFrame::of(h).rail);
    return rails;
  }

  Reactor reactor_;
  OwnRails rails_{config_, reactor_, two_loopback_rails()};
  PeerSessions peers_{reactor_, rails_};
  std::shared_ptr<Session> within_host_ = std::make_shared<Session>(config_, *this, "paper", 2, std::nullopt, false);
};

using RailNumbers = std::vector<int>;

TEST_F(PeerSessionsTest, add__a_session_within_the_host_is_watched_without_rails) {
  EXPECT_EQ(peers_.find(*session_), nullptr);
  const PeerSession& by_rails = peers_.add(session_, true);
  const PeerSession& within = peers_.add(within_host_, false);
  EXPECT_EQ(by_rails.session, session_);
  EXPECT_EQ(by_rails.watch->session(), session_);
  EXPECT_TRUE(by_rails.by_rails() && by_rails.rail_log && by_rails.absent_rails);
  EXPECT_EQ(within.watch->session(), within_host_);
  EXPECT_FALSE(within.by_rails() || within.rail_log || within.absent_rails);
  EXPECT_EQ(peers_.find(*session_), &by_rails) << "a record stays where it is while others come";
  EXPECT_EQ(peers_.find(*within_host_), &within);
}

TEST_F(PeerSessionsTest, remove__takes_that_session_alone_and_ignores_unknown_ones) {
  add_both();
  peers_.remove(*session_);
  EXPECT_EQ(peers_.find(*session_), nullptr);
  EXPECT_NE(peers_.find(*within_host_), nullptr);
  peers_.remove(*session_);
  EXPECT_NE(peers_.find(*within_host_), nullptr);
  EXPECT_EQ(peers_.add(session_, true).session, session_);
}

TEST_F(PeerSessionsTest, remove__the_record_holds_its_session_until_then) {
  auto session = std::make_shared<Session>(config_, *this, "paper", 3);
  const std::weak_ptr<Session> last = session;
  const Session& known = *session;
  peers_.add(std::move(session), true);
  ASSERT_FALSE(last.expired()) << "the record holds it";
  last.lock()->fail(Status(Code::cancelled, Scope::session, "over"));
  peers_.remove(known);
  EXPECT_TRUE(last.expired());
}

TEST_F(PeerSessionsTest, on_link__all_sessions_know_and_peers_by_rails_are_notified) {
  add_both();
  peers_.on_link(1, false);
  for (const auto& session : {session_, within_host_}) {
    EXPECT_TRUE(session->has_link(0));
    EXPECT_FALSE(session->has_link(1));
  }
  EXPECT_EQ(told(0), RailNumbers{1});
  EXPECT_EQ(told(1), RailNumbers{}) << "it has no rails";
  peers_.on_link(1, true);
  for (const auto& session : {session_, within_host_}) EXPECT_TRUE(session->has_link(1));
}

TEST_F(PeerSessionsTest, announce_rail__every_peer_by_rails_gets_the_announcement) {
  add_both();
  peers_.announce_rail(0);
  EXPECT_EQ(told(0), RailNumbers{0});
  peers_.announce_rail(1);
  EXPECT_EQ(told(0), (RailNumbers{0, 1}));
  EXPECT_EQ(told(1), RailNumbers{});
  peers_.remove(*session_);
  peers_.announce_rail(0);
  EXPECT_EQ(told(0), (RailNumbers{0, 1})) << "a session without a record is told nothing";
}

TEST_F(PeerSessionsTest, stop_reconciling__rails_are_left_and_sessions_still_watched) {
  add_both();
  peers_.stop_reconciling();
  const PeerSession* const record = peers_.find(*session_);
  ASSERT_NE(record, nullptr);
  EXPECT_TRUE(record->watch);
  EXPECT_FALSE(record->rail_log || record->absent_rails || record->reconciler || record->probe);
  peers_.on_link(0, false);
  EXPECT_FALSE(session_->has_link(0)) << "health still judges by it";
  EXPECT_EQ(told(0), RailNumbers{});
}

TEST_F(PeerSessionsTest, clear__no_session_has_a_record) {
  add_both();
  const long holders = session_.use_count();
  peers_.clear();
  EXPECT_EQ(peers_.find(*session_), nullptr);
  EXPECT_EQ(peers_.find(*within_host_), nullptr);
  EXPECT_LT(session_.use_count(), holders);
  EXPECT_FALSE(session_->over());
}

TEST_F(PeerSessionsTest, apply_rails__a_malformed_rail_ends_the_session) {
  add_both();
  PeerSession& record = *peers_.find(*session_);
  record.apply_rails();
  EXPECT_FALSE(session_->over()) << "nothing was said";
  paper_[0].says(protocol::RailsFrame{.rail = 3, .edition = 1, .length = 1});
  drive();
  record.apply_rails();
  ASSERT_TRUE(session_->over());
  const auto pending = pending_stream();
  session_->open(pending);
  EXPECT_TRUE(pending->take().status().message().starts_with(
      "connection to paper lost: malformed announcement of the peer's rail 3: "))
      << pending->take().status().message();
  EXPECT_FALSE(within_host_->over());
}

}  // namespace
}  // namespace railweave::engine
