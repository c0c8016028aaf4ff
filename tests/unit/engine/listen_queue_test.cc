#include <gtest/gtest.h>

#include "engine/api/listen_queue.h"
#include "tests/unit/engine/session_fixture.h"

namespace railweave::engine {
namespace {

TEST_F(SessionTest, streams_beyond_the_budget_have_no_slots_until_an_accept) {
  add_lanes(1);
  const auto offered = [&](protocol::StreamId stream) {
    paper_[0].says(protocol::OpenFrame{.stream = stream, .priority = 1, .listener = 7, .rail_mask = ~std::uint64_t{0}});
    drive(3);
    std::uint64_t bytes = 1;
    for (const FrameHeader& h : paper_[0].sent)
      if (h.type == FrameType::opened && h.stream == stream) bytes = protocol::OpenedFrame::of(h).eager_slot_bytes;
    return bytes;
  };
  EXPECT_EQ(offered(0), config_.eager_limit_bytes);
  EXPECT_EQ(offered(1), config_.eager_limit_bytes);
  EXPECT_EQ(offered(2), 0u);
  recv_ = queue_->pop();
  EXPECT_EQ(offered(3), config_.eager_limit_bytes);
  queue_->close();
}

// The session ended before the peer had an answer, and the peer opens the stream again in another session.
TEST_F(SessionTest, a_live_stream_is_accepted_before_one_of_an_ended_session) {
  add_lanes(1);
  paper_[0].says(protocol::OpenFrame{.stream = 0, .priority = 1, .listener = 7, .rail_mask = ~std::uint64_t{0}});
  drive();
  session_->fail(Status(Code::remote, Scope::session, "unanswered"));
  session_->close_lanes();
  session_ = std::make_shared<Session>(config_, *this, "paper", 2);
  ASSERT_TRUE(session_->add_lane(1, {1, 1}, std::make_unique<PaperLane>(paper_[1], "eth1")));
  paper_[1].says(protocol::OpenFrame{.stream = 0, .priority = 1, .listener = 7, .rail_mask = ~std::uint64_t{0}});
  drive();
  recv_ = queue_->pop();
  ASSERT_TRUE(recv_);
  EXPECT_FALSE(recv_->dead());
  const std::unique_ptr<RecvEnd> dead = queue_->pop();
  ASSERT_TRUE(dead);
  EXPECT_TRUE(dead->dead());
}

TEST_F(SessionTest, the_last_few_streams_of_an_ended_session_await_an_accept) {
  add_lanes(1);
  for (protocol::StreamId stream = 0; stream < 100; ++stream)
    paper_[0].says(protocol::OpenFrame{.stream = stream, .priority = 1, .listener = 7, .rail_mask = ~std::uint64_t{0}});
  drive(3);
  queue_->drop_dead();
  session_->fail(Status(Code::remote, Scope::session, "gone"));
  queue_->drop_dead();
  std::size_t left = 0;
  while (queue_->pop()) ++left;
  EXPECT_EQ(left, ListenQueue::kDeadMax);
}

}  // namespace
}  // namespace railweave::engine
