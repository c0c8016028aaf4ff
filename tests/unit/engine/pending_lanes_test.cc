// SessionLanes with pending lanes: fake lanes that take time to be established.
#include <cerrno>

#include <string_view>

#include "railweave/log.h"
#include "tests/unit/engine/paper_lanes.h"
#include "tests/unit/engine/session_fixture.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

// The state of a fake pending lane, written and read by the test. Outlives the pending lane.
struct PaperPending {
  bool made = false;
  Status error;
  int polls = 0;
  bool dropped = false;  // the pending lane was destroyed
};

class PaperPendingLane final : public wire::PendingLane {
 public:
  PaperPendingLane(PaperPending& state, Paper& paper) : state_(state), paper_(paper) {}
  ~PaperPendingLane() override { state_.dropped = true; }
  Result<wire::Offer> offer() override { return wire::Offer{}; }
  Status complete(wire::Offer) override { return {}; }
  void start(wire::Bootstrap) override {}
  Result<std::unique_ptr<wire::Lane>> poll() override {
    ++state_.polls;
    if (!state_.error.ok()) return state_.error;
    if (!state_.made) return std::unique_ptr<wire::Lane>();
    return std::unique_ptr<wire::Lane>(std::make_unique<PaperLane>(paper_, "eth0"));
  }

 private:
  PaperPending& state_;
  Paper& paper_;
};

std::vector<std::string> told;
void receive(LogLevel level, LogTopic, const char*, int, std::string_view text) {
  if (level == LogLevel::info) told.emplace_back(text);
}

class PendingLanes : public SessionLanesTest {
 protected:
  void begin(int number) {
    lanes_.begin_lane(protocol::LaneId(number), {number, number},
                      std::make_unique<PaperPendingLane>(pending_[number], paper_[number]), false);
  }
  std::size_t open() const { return lanes_.table().rails_of_lanes().size(); }

  PaperPending pending_[4];
};

TEST_F(PendingLanes, a_lane_that_its_wire_makes_at_once_is_open_at_once) {
  pending_[0].made = true;
  begin(0);
  EXPECT_EQ(open(), 1u);
  EXPECT_EQ(pending_[0].polls, 1);
  EXPECT_TRUE(pending_[0].dropped);
  EXPECT_FALSE(lanes_.any_is_pending());
  EXPECT_EQ(lanes_came_, 1);
}

TEST_F(PendingLanes, a_pending_lane_is_polled_each_time_until_it_is_open) {
  begin(0);
  EXPECT_EQ(open(), 0u);
  EXPECT_TRUE(lanes_.any_is_pending());
  EXPECT_TRUE(lanes_.was_begun(0));
  EXPECT_FALSE(protocol_.had_lane(0)) << "nothing goes there yet";
  EXPECT_EQ(lanes_.rails_in_use(), (std::vector<RailPair>{{0, 0}}));
  for (int looks = 1; looks <= 3; ++looks) {
    lanes_.poll(false);
    EXPECT_EQ(pending_[0].polls, 1 + looks);
  }
  pending_[0].made = true;
  lanes_.poll(false);
  EXPECT_EQ(open(), 1u);
  EXPECT_FALSE(lanes_.any_is_pending());
  EXPECT_EQ(lanes_.rails_in_use(), (std::vector<RailPair>{{0, 0}}));
  EXPECT_EQ(lanes_came_, 1);
  EXPECT_EQ(lanes_wanted_, 0);
}

TEST_F(PendingLanes, a_lane_that_is_not_made_is_wanted_again) {
  add_lane(0, 0);
  begin(1);
  pending_[1].error = Status(Code::remote, Scope::lane, "the peer's end is gone");
  told.clear();
  const LogSink before = set_log_sink(receive);
  lanes_.poll(false);
  set_log_sink(before);
  EXPECT_EQ(told, std::vector<std::string>{"no lane 1 to paper: the peer's end is gone"});
  EXPECT_TRUE(pending_[1].dropped);
  EXPECT_FALSE(lanes_.any_is_pending());
  EXPECT_EQ(lanes_.rails_in_use(), (std::vector<RailPair>{{0, 0}}));
  EXPECT_EQ(lanes_wanted_, 1);
  EXPECT_FALSE(protocol_.is_over());
  EXPECT_TRUE(lanes_.was_begun(1)) << "a probe that joins by that number is no lane";
  EXPECT_FALSE(lanes_.was_begun(2));
}

TEST_F(PendingLanes, a_lane_that_never_comes_is_given_up_in_time) {
  add_lane(0, 0);
  begin(1);
  clock_.at += 9s;
  lanes_.poll(false);
  EXPECT_TRUE(lanes_.any_is_pending());
  clock_.at += 2s;
  lanes_.poll(false);
  EXPECT_FALSE(lanes_.any_is_pending());
  EXPECT_TRUE(pending_[1].dropped);
  EXPECT_EQ(lanes_wanted_, 1);
}

TEST(PendingLaneTime, another_wire_has_time_within_the_connect_timeout) {
  Config config;
  EXPECT_EQ(time_of_pending_lane(config), 10s);
  config.peer_timeout = 60s;
  EXPECT_EQ(time_of_pending_lane(config), 10s);
  config.connect_timeout = 8s;
  EXPECT_EQ(time_of_pending_lane(config), 4s);
  config.connect_timeout = 100ms;
  EXPECT_EQ(time_of_pending_lane(config), 1s);
  config = {};
  config.peer_timeout = 2s;
  EXPECT_EQ(time_of_pending_lane(config), 2s);
}

struct OutlivesSession {
  StandingClock standing;
  PaperPending late;
};

// A session with the settings of a user who waits long for lost peers.
struct PatientSession : OutlivesSession, SessionTest {
  PatientSession() : SessionTest(Config().stall_timeout, standing) {
    session_->close_lanes();
    config_.peer_timeout = 60s;
    session_ = std::make_shared<Session>(config_, *this, "paper", 1);
  }
};

TEST_F(PatientSession, a_first_lane_that_never_comes_leaves_time_for_another_wire) {
  session_->begin_lane(0, {0, 0}, std::make_unique<PaperPendingLane>(late, paper_[0]), false);
  std::shared_ptr<PendingStream> stream = pending_stream();
  session_->open(stream);
  standing.at += 11s;
  session_->poll_lanes();
  EXPECT_TRUE(late.dropped);
  EXPECT_EQ(unanswered_, std::vector{stream}) << "another session may open it";
}

TEST_F(PendingLanes, a_session_whose_first_lane_is_not_made_is_over) {
  pending_[0].error = Status(Code::remote, Scope::lane, "the peer's end is gone", ECONNRESET);
  begin(0);
  EXPECT_TRUE(protocol_.is_over());
  EXPECT_EQ(protocol_.lock()->error().message(), "the peer's end is gone");
}

TEST_F(PendingLanes, the_last_lane_may_go_while_another_is_on_its_way) {
  add_lane(0, 0);
  begin(1);
  paper_[0].ending = Status(Code::remote, Scope::lane, "closed by the peer");
  drive();
  EXPECT_EQ(open(), 0u);
  EXPECT_FALSE(protocol_.is_over());
  pending_[1].made = true;
  lanes_.poll(false);
  EXPECT_EQ(open(), 1u);
  EXPECT_FALSE(protocol_.is_over());
}

TEST_F(PendingLanes, a_session_that_waited_for_a_lane_ends_when_that_is_not_made) {
  add_lane(0, 0);
  begin(1);
  paper_[0].says({.type = FrameType::goodbye});
  paper_[0].ending = Status(Code::remote, Scope::lane, "closed by the peer");
  drive();
  EXPECT_FALSE(protocol_.is_over()) << "last words may come";
  pending_[1].error = Status(Code::remote, Scope::lane, "the peer's end is gone");
  lanes_.poll(false);
  EXPECT_TRUE(protocol_.is_over());
}

TEST_F(PendingLanes, what_is_on_its_way_is_dropped_with_the_session) {
  begin(0);
  lanes_.close();
  EXPECT_TRUE(pending_[0].dropped);
  EXPECT_FALSE(lanes_.any_is_pending());
  begin(1);
  fail(Status(Code::cancelled, Scope::session, "the test ended"));
  pending_[1].made = true;
  lanes_.poll(false);
  EXPECT_TRUE(pending_[1].dropped);
  EXPECT_EQ(open(), 0u);
  begin(2);
  EXPECT_TRUE(pending_[2].dropped) << "over already";
}

TEST_F(PendingLanes, a_lane_that_finds_no_place_is_closed) {
  for (int i = 0; i < kPlacesMax; ++i)
    ASSERT_TRUE(
        lanes_.add_lane(protocol::LaneId(10 + i), {0, 0}, std::make_unique<PaperLane>(paper_[0], "eth0"), false));
  pending_[1].made = true;
  begin(1);
  EXPECT_TRUE(paper_[1].closed);
  EXPECT_FALSE(lanes_.any_is_pending());
  EXPECT_EQ(lanes_came_, 0);
  EXPECT_FALSE(protocol_.is_over());
}

// The peer's end of the lane was open first, was used, and was given up.
TEST_F(PendingLanes, a_lane_that_the_peer_gave_up_meanwhile_does_not_open) {
  add_lane(0, 0);
  begin(1);
  paper_[0].says({.type = FrameType::fence, .aux = 1, .a = 0});
  drive();
  pending_[1].made = true;
  lanes_.poll(false);
  for (const protocol::Event& event : protocol_.take_events())
    if (event.kind == protocol::Event::Kind::lane_failed_by_peer) lanes_.on_failed_by_peer(event.lane, event.too_slow);
  EXPECT_TRUE(paper_[1].closed);
  EXPECT_EQ(open(), 1u);
}

}  // namespace
}  // namespace railweave::engine
