// Session with fake lanes that stall, contradict the protocol, deliver altered bytes, or end.
#include "engine/session/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "engine/api/request.h"
#include "tests/unit/engine/session_fixture.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;
using protocol::FenceFrame;
using protocol::RetireFrame;

class ImpatientSessionTest : public SessionTest {
 protected:
  ImpatientSessionTest() : SessionTest(3s) {}

  void look_for(Nanos time) {
    for (const TimePoint end = now() + time; now() < end; std::this_thread::sleep_for(10ms)) session_->poll_lanes(true);
  }
};

const FrameHeader kSegment = protocol::SegmentFrame{.stream = 0, .length = 100, .message = 0, .offset = 0, .size = 100};
const FrameHeader kNotGranted =
    protocol::SegmentFrame{.stream = 0, .length = 100, .message = 9, .offset = 0, .size = 100};

TEST_F(SessionTest, a_receive_awaits_its_ack_while_a_claimed_lane_may_take_it) {
  add_lanes(2);
  open_stream();
  Request* const request = post(100);
  drive(3);
  paper_[0].stuck = paper_[1].stuck = true;
  paper_[0].says(kSegment);
  drive(3);
  LaneDriver& with_ack = session_->lane(session_->lane(0).blocked() ? 0 : 1);
  LaneDriver& idle = session_->lane(session_->lane(0).blocked() ? 1 : 0);
  EXPECT_TRUE(with_ack.blocked());
  EXPECT_FALSE(idle.blocked());
  idle.claim();
  drive(3);
  EXPECT_FALSE(done(request));
  idle.release();
  paper_[0].stuck = paper_[1].stuck = false;
  drive(3);
  EXPECT_TRUE(done(request));
}

TEST_F(SessionTest, a_receive_does_not_await_its_ack_when_all_lanes_are_stuck) {
  add_lanes(2);
  open_stream();
  Request* const request = post(100);
  drive(3);
  paper_[1].ending = Status(Code::remote, Scope::lane, "closed by the peer");
  drive(3);
  paper_[0].stuck = true;
  paper_[0].says(kSegment);
  drive(3);
  ASSERT_TRUE(session_->lane(0).blocked());
  EXPECT_TRUE(done(request));
}

TEST_F(SessionTest, an_awaited_peer_is_asked_by_every_lane) {
  add_lanes(2);
  open_stream();
  ASSERT_NE(post(100), nullptr);
  drive(3);
  session_->poll_lanes(true);
  std::this_thread::sleep_for(PeerHeartbeat::kProbeEvery + std::chrono::milliseconds(1));
  session_->poll_lanes(true);
  drive(3);
  for (const int lane : {0, 1}) {
    const auto asks = [](const FrameHeader& h) {
      return h.type == FrameType::keep && protocol::KeepFrame::of(h).answer_me;
    };
    EXPECT_EQ(std::ranges::count_if(paper_[lane].sent, asks), 1) << lane;
  }
}

TEST_F(SessionTest, control_that_a_lane_holds_up_goes_by_another) {
  add_lanes(2);
  open_stream();
  drive(3);
  paper_[0].acknowledged = paper_[1].acknowledged = false;
  ASSERT_NE(post(100), nullptr);
  drive(3);
  const auto grants = [this](int lane) {
    return std::ranges::count(paper_[lane].sent, FrameType::grant, &FrameHeader::type);
  };
  const int first = grants(0) > 0 ? 0 : 1;
  ASSERT_EQ(grants(0) + grants(1), 1);
  paper_[1 - first].acknowledged = true;
  for (const TimePoint end = now() + 10s; grants(1 - first) == 0 && now() < end; std::this_thread::sleep_for(1ms)) {
    session_->poll_lanes();
    drive();
  }
  EXPECT_EQ(grants(1 - first), 1);
  EXPECT_EQ(grants(first), 1);
  EXPECT_GE(session_->stats().control_frames_retransmitted, 1u);
}

// Three seconds without an answer end the session. Time in which the peer's kernel is silent, too, does not count; the
// time before does.
TEST_F(ImpatientSessionTest, time_of_a_silent_kernel_does_not_make_the_peer_stopped) {
  add_lanes(1);
  open_stream();
  ASSERT_NE(post(100), nullptr);
  drive();
  look_for(1s);
  paper_[0].silent_since = now();
  look_for(3500ms);
  EXPECT_FALSE(session_->over());
  EXPECT_EQ(std::ranges::count_if(warnings, [](const std::string& w) { return w.starts_with("no answer from paper"); }),
            1);
  paper_[0].silent_since.reset();
  const TimePoint back_at = now();
  while (!session_->over() && now() < back_at + 10s) look_for(10ms);
  ASSERT_TRUE(session_->over());
  EXPECT_LT(now() - back_at, 2900ms) << "it counted from the beginning";
}

TEST_F(SessionTest, a_contradicting_frame_ends_its_lane_and_a_second_the_session) {
  add_lanes(3);
  open_stream();
  paper_[1].says(kNotGranted);
  drive(3);
  EXPECT_FALSE(session_->over());
  EXPECT_EQ(session_->lane(1).descriptor(), -1);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("lane 1 to paper on rail eth1 given up"), std::string::npos) << warnings[0];
  paper_[2].says(kNotGranted);
  drive(3);
  EXPECT_TRUE(session_->over());
}

TEST_F(SessionTest, lanes_that_merely_end_do_not_end_the_session) {
  add_lanes(4);
  open_stream();
  for (int i = 1; i < 4; ++i) paper_[i].ending = Status(Code::remote, Scope::lane, "closed by the peer");
  drive(3);
  EXPECT_FALSE(session_->over());
  EXPECT_TRUE(warnings.empty());
}

// A closed lane makes room at once, before its fence arrives: if every lane is reset, no lane can bring the fence.
TEST_F(SessionTest, the_number_of_lanes_at_once_is_bounded) {
  const auto add = [&](int i) {
    return session_->add_lane(protocol::LaneId(i), {0, 0}, std::make_unique<PaperLane>(paper_[std::min(i, 2)], "eth0"));
  };
  for (int i = 0; i < kPlacesMax; ++i) ASSERT_TRUE(add(i)) << i;
  EXPECT_FALSE(add(kPlacesMax));
  EXPECT_EQ(session_->open_lanes(), 80);
  paper_[1].ending = Status(Code::remote, Scope::lane, "closed by the peer");
  drive(3);
  EXPECT_TRUE(add(kPlacesMax));
  EXPECT_EQ(session_->open_lanes(), 80);
  EXPECT_FALSE(session_->over());
}

// Lanes whose fences never come keep their ledgers, so their number has a limit.
TEST_F(SessionTest, lanes_lost_again_and_again_without_a_fence_are_bounded) {
  add_lanes(1);
  std::size_t added = 1;
  for (; added < 1000; ++added) {
    Paper sheet;
    sheet.ending = Status(Code::remote, Scope::lane, "closed by the peer");
    if (!session_->add_lane(protocol::LaneId(added), {0, 0}, std::make_unique<PaperLane>(sheet, "eth0"))) break;
    drive(1);
    ASSERT_EQ(session_->open_lanes(), 1);
  }
  EXPECT_EQ(added, protocol::kLanesKnownMax);
  EXPECT_FALSE(session_->over());
}

// Nobody polls, and nothing else waits to be sent. Without the fence, the peer would go on using the lane.
TEST_F(SessionTest, a_lane_that_is_given_up_has_its_fence_sent) {
  add_lanes(2);
  drive(3);
  session_->clear_wake();
  wakes_ = 0;
  session_->set_link(1, false);
  EXPECT_TRUE(session_->lane(1).descriptor() < 0);
  EXPECT_TRUE(session_->has_work());
  EXPECT_GT(wakes_, 0);
}

// What arrived is handled only in part: another thread that read on would count it as handled.
TEST_F(SessionTest, a_lane_that_is_read_without_memory_is_never_read_again) {
  add_lanes(2);
  paper_[0].lacks_memory = true;
  drive();
  EXPECT_TRUE(session_->over());
  EXPECT_FALSE(session_->lane(0).is_open());
  const int reads = paper_[0].reads;
  drive(3);
  EXPECT_EQ(paper_[0].reads, reads);
}

TEST_F(SessionTest, what_it_asks_of_the_reactor_is_taken_once) {
  add_lanes(2);
  drive(3);
  (void)take_wants();
  session_->set_link(1, false);
  const SessionWants lost = take_wants();
  EXPECT_TRUE(lost.lanes);
  EXPECT_FALSE(lost.retire);
  EXPECT_FALSE(take_wants().lanes);
  wakes_ = 0;
  session_->fail(Status(Code::remote, Scope::session, "gone"));
  EXPECT_GT(wakes_, 0);
  EXPECT_TRUE(take_wants().retire);
  EXPECT_FALSE(take_wants().retire);
}

TEST_F(SessionTest, a_lane_that_retires_and_is_closed_by_the_peer_is_no_loss) {
  add_lanes(2);
  drive(3);
  session_->lanes().retire({{{1, 1}, 0}});
  drive(3);
  EXPECT_EQ(std::ranges::count(paper_[0].sent, FrameType::retire, &FrameHeader::type), 1);
  (void)take_wants();
  paper_[1].ending = Status(Code::remote, Scope::lane, "closed by the peer");
  drive(3);
  EXPECT_EQ(session_->open_lanes(), 1);
  EXPECT_TRUE(session_->take_losses().empty());
  EXPECT_TRUE(take_wants().lanes) << "the pairs are to be looked at";
  EXPECT_TRUE(warnings.empty());
}

TEST_F(SessionTest, a_lane_that_retires_and_falls_silent_is_lost) {
  add_lanes(2);
  drive(3);
  session_->lanes().retire({{{1, 1}, 0}});
  session_->set_link(1, false);
  EXPECT_EQ(session_->take_losses().size(), 1u);
}

TEST_F(SessionTest, of_lanes_of_one_pair_the_oldest_stay) {
  for (const protocol::LaneId lane : {2, 0, 1})
    ASSERT_TRUE(session_->add_lane(lane, {0, 0}, std::make_unique<PaperLane>(paper_[lane], "eth0")));
  drive(3);
  session_->lanes().retire({{{0, 0}, 1}});
  drive(3);
  std::vector<int> retired;
  for (const FrameHeader& h : paper_[0].sent)
    if (h.type == FrameType::retire && RetireFrame::of(h).retires) retired.push_back(RetireFrame::of(h).lane);
  EXPECT_EQ(retired, (std::vector<int>{2, 1})) << "by place";
  session_->lanes().retire({});
  drive(3);
  std::vector<int> serve_again;
  for (const Paper& paper : paper_)
    for (const FrameHeader& h : paper.sent)
      if (h.type == FrameType::retire && !RetireFrame::of(h).retires) serve_again.push_back(RetireFrame::of(h).lane);
  EXPECT_EQ(serve_again, (std::vector<int>{2, 1}));
}

TEST_F(SessionTest, a_lane_that_the_peer_retires_ends_once_its_frames_came) {
  add_lanes(2);
  open_stream();
  drive(3);
  const auto fenced = [&] { return std::ranges::count(paper_[0].sent, FrameType::fence, &FrameHeader::type); };
  paper_[0].says(RetireFrame{.lane = 1, .edition = 1, .frames = 2, .retires = true});
  paper_[1].says({.type = FrameType::keep});
  drive(3);
  EXPECT_EQ(session_->open_lanes(), 2) << "one of two frames is here";
  paper_[1].says({.type = FrameType::keep});
  drive(3);
  EXPECT_EQ(session_->open_lanes(), 1);
  EXPECT_EQ(fenced(), 1);
  EXPECT_TRUE(session_->take_losses().empty());
}

TEST_F(SessionTest, a_connector_that_gave_up_before_the_answer_is_forgotten) {
  add_lanes(1);
  auto pending = pending_stream();
  const std::weak_ptr<PendingStream> seen = pending;
  session_->open(pending);
  drive();
  EXPECT_TRUE(session_->is_waited_for());
  pending->give_up();
  pending.reset();
  paper_[0].says(protocol::OpenedFrame{.stream = 0, .rail_mask = ~std::uint64_t{0}});
  drive(2);
  EXPECT_TRUE(seen.expired());
  EXPECT_FALSE(session_->is_waited_for());
}

// The peer may never have had this session: the same stream may be opened in another session.
TEST_F(SessionTest, a_connector_outlives_a_session_in_which_the_peer_never_spoke) {
  add_lanes(1);
  const auto pending = pending_stream();
  session_->open(pending);
  drive();
  session_->lose("no such session");
  ASSERT_EQ(unanswered_.size(), 1u);
  EXPECT_EQ(unanswered_[0], pending);
  EXPECT_TRUE(pending->take().ok()) << "nothing is decided";
  EXPECT_TRUE(warnings.empty()) << warnings[0];
}

TEST_F(SessionTest, a_connector_fails_with_a_session_in_which_the_peer_spoke) {
  add_lanes(1);
  const auto pending = pending_stream();
  session_->open(pending);
  paper_[0].says({.type = FrameType::keep});
  drive();
  session_->lose("no such session");
  EXPECT_TRUE(unanswered_.empty());
  EXPECT_FALSE(pending->take().ok());
  EXPECT_EQ(warnings.size(), 1u);
  session_ = std::make_shared<Session>(config_, *this, "paper", 2);
  const auto other = pending_stream();
  session_->open(other);
  session_->fail(Status(Code::cancelled, Scope::session, "the engine ended"));
  EXPECT_TRUE(unanswered_.empty());
  EXPECT_FALSE(other->take().ok()) << "nor does it outlive one that ends by our own will";
}

// There are more requests than a stream remembers: the memory of each later one is withdrawn from the lanes at once.
TEST_F(SessionTest, no_lane_writes_memory_of_requests_of_a_stream_that_is_gone) {
  add_lanes(2);
  open_stream();
  constexpr std::size_t kRequests = 64, kEach = 100;
  std::vector<Request*> requests;
  for (std::size_t i = 0; i < kRequests; ++i) requests.push_back(recv_->post(place_.data() + i * kEach, kEach).value());
  drive();
  paper_[0].halfway = true;
  paper_[0].says(
      protocol::SegmentFrame{.stream = 0, .length = kEach, .message = kRequests - 1, .offset = 0, .size = kEach});
  drive();
  paper_[1].says(protocol::AbortFrame{.stream = 0, .code = Code(9)});
  drive();
  EXPECT_FALSE(recv_->test(requests[0]).ok());
  std::vector<std::byte> other(kEach);
  for (std::size_t i = 1; i < kRequests; ++i) {
    Request* const late = recv_->post(other.data(), kEach).value();
    drive();
    EXPECT_FALSE(recv_->test(late).ok());
  }
  for (std::size_t i = 1; i < kRequests; ++i) EXPECT_FALSE(recv_->test(requests[i]).ok());
  recv_.reset();
  const std::byte* const landing = place_.data() + (kRequests - 1) * kEach;
  EXPECT_NE(std::ranges::find(paper_[0].withdrawn, landing, [](const auto& range) { return range.data(); }),
            paper_[0].withdrawn.end());
}

TEST_F(SessionTest, an_impossible_fence_ends_the_session_and_says_so) {
  add_lanes(3);
  open_stream();
  Request* const request = post(100);
  drive(3);
  paper_[1].says(FenceFrame{.lane = 2, .frames = 999});
  drive(3);
  EXPECT_TRUE(session_->over());
  EXPECT_TRUE(done(request));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("FENCE after 999 frames"), std::string::npos) << warnings[0];
}

constexpr FrameHeader part(std::uint32_t number) {
  return protocol::SegmentFrame{.stream = 0, .length = 100, .message = 0, .offset = 100 * number, .size = 1000};
}

TEST_F(SessionTest, altered_bytes_cost_their_lane_and_never_the_session) {
  add_lanes(4);
  open_stream();
  (void)post(1000);
  drive(3);
  paper_[0].says_checked(part(0), false);
  paper_[1].says_checked(part(1), true);
  drive(3);
  paper_[2].alters_headers = paper_[3].alters_headers = true;
  paper_[2].says(part(2));
  paper_[3].says(part(2));
  drive(3);
  EXPECT_FALSE(session_->over());
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_NE(warnings[0].find(
                "lane 1 to paper on rail eth1 given up: wrong bytes: SEGMENT of stream 0, message 0, bytes 100 to 200"),
            std::string::npos)
      << warnings[0];
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(session_->lane(i).descriptor() < 0, i > 0);
    EXPECT_EQ(session_->stats().lanes[std::size_t(i)].damaged_frames, std::uint64_t(i > 0));
  }
  std::uint64_t consumed = 99;  // frames consumed of lane 1, from its fence
  for (const FrameHeader& h : paper_[0].sent)
    if (h.type == FrameType::fence && FenceFrame::of(h).lane == 1) consumed = FenceFrame::of(h).frames;
  EXPECT_EQ(consumed, 0u);
}

TEST_F(SessionTest, without_checks_altered_headers_end_the_session) {
  add_lanes(3);
  open_stream();
  paper_[1].alters_headers = paper_[2].alters_headers = true;
  paper_[1].says(kSegment);
  drive(3);
  EXPECT_FALSE(session_->over());
  EXPECT_EQ(session_->stats().lanes[1].damaged_frames, 0u);
  paper_[2].says(kSegment);
  drive(3);
  EXPECT_TRUE(session_->over());
}

TEST_F(SessionTest, a_last_lane_with_wrong_bytes_is_awaited_for_a_limited_time) {
  using namespace std::chrono_literals;
  config_.peer_timeout = 300ms;
  session_->fail(Status(Code::cancelled, Scope::session, "another one"));
  session_ = std::make_shared<Session>(config_, *this, "paper", 2);
  add_lanes(1);
  open_stream();
  Request* const request = post(1000);
  drive(3);
  paper_[0].says_checked(part(0), true);
  drive(3);
  EXPECT_FALSE(session_->over());
  EXPECT_TRUE(take_wants().lanes);
  const auto another = [&](int i) {
    ASSERT_TRUE(session_->add_lane(protocol::LaneId(i), {0, 0}, std::make_unique<PaperLane>(paper_[i], "eth0")));
    drive(3);
  };
  another(1);
  paper_[1].says(FenceFrame{.lane = 0, .frames = 0});
  paper_[1].says_checked(part(0), false);
  std::this_thread::sleep_for(400ms);
  paper_[1].says_checked(part(1), true);  // but an intact payload came before: there is grace again
  drive(3);
  EXPECT_FALSE(session_->over());
  another(2);
  std::this_thread::sleep_for(400ms);
  paper_[2].says_checked(part(1), true);
  drive(3);
  EXPECT_TRUE(session_->over());
  EXPECT_TRUE(done(request));
  EXPECT_NE(request->status.message().find("wrong bytes"), std::string::npos) << request->status.message();
}

// An end that only sends receives acknowledgements and grants, never a payload. Only the arrival of its own segments
// shows that the path works.
TEST_F(SessionTest, rare_altered_headers_end_no_session_that_makes_progress) {
  config_.peer_timeout = 300ms;
  config_.checksum = true;
  session_->fail(Status(Code::cancelled, Scope::session, "another one"));
  session_ = std::make_shared<Session>(config_, *this, "paper", 2);
  add_lanes(1);
  const auto pending = pending_stream();
  session_->open(pending);
  paper_[0].says(protocol::OpenedFrame{.stream = 0, .rail_mask = ~std::uint64_t{0}, .eager_slot_bytes = 65536});
  drive(3);
  std::unique_ptr<SendEnd> send = std::move(*pending->take());
  ASSERT_TRUE(send);
  for (int i = 0; i < 3; ++i) {
    SCOPED_TRACE(i);
    if (i < 2) {
      ASSERT_TRUE(send->post(place_.data(), 100).ok());
      drive(3);
      paper_[i].says({.type = FrameType::keep, .consumed = std::uint32_t(paper_[i].sent.size())});
      drive(3);
    }
    std::this_thread::sleep_for(400ms);
    paper_[i].alters_headers = true;
    paper_[i].says({.type = FrameType::keep});
    drive(3);
    ASSERT_EQ(session_->over(), i == 2) << "nothing came through by the last lane";
    if (i == 2) break;
    ASSERT_TRUE(
        session_->add_lane(protocol::LaneId(i + 1), {0, 0}, std::make_unique<PaperLane>(paper_[i + 1], "eth0")));
    drive(3);
  }
  send.reset();
}

TEST_F(SessionTest, counters_of_a_lost_lane_stay) {
  add_lanes(2);
  open_stream();
  (void)post(100);
  drive(3);
  paper_[1].says(kSegment);
  drive();
  paper_[1].ending = Status(Code::remote, Scope::lane, "closed by the peer");
  drive();
  const SessionStats stats = session_->stats();
  ASSERT_EQ(stats.lanes.size(), 2u);
  EXPECT_FALSE(stats.lanes[0].closed);
  EXPECT_TRUE(stats.lanes[1].closed);
  EXPECT_EQ(stats.lanes[1].rail, "eth1");
  EXPECT_EQ(stats.lanes[1].bytes_received, 100u);
}

}  // namespace
}  // namespace railweave::engine
