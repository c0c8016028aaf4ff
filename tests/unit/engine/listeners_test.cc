#include "engine/api/listeners.h"

#include "tests/unit/engine/session_fixture.h"

namespace railweave::engine {
namespace {

class ListenersTest : public SessionTest {
 protected:
  std::shared_ptr<ListenQueue> find_listener(std::uint32_t id) override { return listeners_.find(id); }

  // The peer opens `count` streams to `listener`, with numbers from `first` on.
  void open_streams(int first, int count, std::uint32_t listener) {
    for (int i = 0; i < count; ++i)
      paper_[0].says(protocol::OpenFrame{.stream = protocol::StreamId(first + i),
                                         .priority = 1,
                                         .listener = listener,
                                         .rail_mask = ~std::uint64_t{0}});
    drive(3);
  }
  static std::size_t waiting_in(ListenQueue& queue) {
    std::size_t streams = 0;
    while (queue.pop()) ++streams;
    return streams;
  }

  Listeners listeners_{2};
};

TEST_F(ListenersTest, add__no_number_is_ever_used_again) {
  const auto first = listeners_.add(1), second = listeners_.add(2);
  EXPECT_NE(first->id(), second->id());
  EXPECT_EQ(listeners_.find(first->id()), first);
  EXPECT_EQ(listeners_.find(second->id()), second);
  EXPECT_EQ(second->rail_mask(), 2u);
  listeners_.close(second->id());
  const auto third = listeners_.add(1);
  EXPECT_NE(third->id(), second->id()) << "an OPEN that is late would find it";
  listeners_.close_all();
  EXPECT_GT(listeners_.add(1)->id(), third->id());
}

TEST_F(ListenersTest, close__the_listener_is_found_no_more_and_takes_no_stream) {
  const auto closed = listeners_.add(1), other = listeners_.add(1);
  listeners_.close(closed->id());
  EXPECT_EQ(listeners_.find(closed->id()), nullptr);
  EXPECT_FALSE(closed->has_room()) << "a session may have found it before";
  EXPECT_EQ(listeners_.find(other->id()), other);
  EXPECT_TRUE(other->has_room());
  listeners_.close(closed->id());
  listeners_.close(12345);
  EXPECT_EQ(listeners_.find(other->id()), other);
}

TEST_F(ListenersTest, close__what_waits_there_closes_with_it) {
  add_lanes(1);
  const auto queue = listeners_.add(~std::uint64_t{0});
  open_streams(0, 3, queue->id());
  EXPECT_EQ(session_->stats().recv_streams, 3u);
  const auto closes = [this] { return std::ranges::count(paper_[0].sent, FrameType::close, &FrameHeader::type); };
  EXPECT_EQ(closes(), 0);
  listeners_.close(queue->id());
  drive(3);
  EXPECT_EQ(closes(), 3) << "their senders hear that nobody takes them";
  EXPECT_EQ(waiting_in(*queue), 0u);
}

TEST_F(ListenersTest, close_all__every_listener_is_closed) {
  const auto one = listeners_.add(1), other = listeners_.add(1);
  listeners_.close_all();
  EXPECT_FALSE(one->has_room() || other->has_room());
  EXPECT_EQ(listeners_.find(one->id()), nullptr);
  EXPECT_EQ(listeners_.find(other->id()), nullptr);
}

TEST_F(ListenersTest, slots_of_unaccepted_streams_are_shared_by_all_listeners) {
  const auto one = listeners_.add(1), other = listeners_.add(1);
  auto first = one->take_slots(), second = other->take_slots();
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(one->take_slots() || other->take_slots());
  first.reset();
  EXPECT_TRUE(other->take_slots());
}

TEST_F(ListenersTest, drop_dead__of_each_listener_the_last_few_stay) {
  add_lanes(1);
  constexpr int kMany = int(ListenQueue::kDeadMax) + 10;
  const auto one = listeners_.add(~std::uint64_t{0}), other = listeners_.add(~std::uint64_t{0});
  open_streams(0, kMany, one->id());
  open_streams(kMany, kMany, other->id());
  listeners_.drop_dead();
  session_->fail(Status(Code::remote, Scope::session, "gone"));
  listeners_.drop_dead();
  EXPECT_EQ(waiting_in(*one), ListenQueue::kDeadMax);
  EXPECT_EQ(waiting_in(*other), ListenQueue::kDeadMax);
}

}  // namespace
}  // namespace railweave::engine
