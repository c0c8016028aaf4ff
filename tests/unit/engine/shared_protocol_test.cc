#include "engine/session/shared_protocol.h"

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <string>

namespace railweave::engine {
namespace {

// A fake inbox: logs its name at each drain(), and fails as the test wants.
class PaperInbox final : public Inbox {
 public:
  explicit PaperInbox(std::string name, std::string& log) : name_(std::move(name)), log_(log) {}
  bool drain(protocol::SessionProtocol& session) override {
    if (throws > 0) {
      --throws;
      throw std::bad_alloc();
    }
    log_ += name_;
    if (act) act(session);
    if (stays > 0) return --stays, false;
    return true;
  }
  bool holds(std::span<const std::byte>) const override { return false; }
  Unfinished unfinished() const override { return {}; }

  int throws = 0;  // so many times drain() throws std::bad_alloc
  int stays = 0;   // so many times drain() finds no room in the session
  std::function<void(protocol::SessionProtocol&)> act;

 private:
  const std::string name_;
  std::string& log_;
};

class SharedProtocolTest : public testing::Test {
 protected:
  ~SharedProtocolTest() override {
    for (PaperInbox* inbox : {&a_, &b_, &c_}) inbox->throws = inbox->stays = 0;
    protocol_.lock().take_posts();  // no node may be in a set when it is destroyed
  }
  void take() { protocol_.lock().take_posts(); }

  SharedProtocol protocol_{{}, monotonic_clock()};
  std::string drained_;
  PaperInbox a_{"a", drained_}, b_{"b", drained_}, c_{"c", drained_};
};

TEST_F(SharedProtocolTest, take_posts__each_inbox_once_in_the_order_of_posting) {
  EXPECT_FALSE(protocol_.has_posts());
  for (PaperInbox* inbox : {&b_, &a_, &b_, &c_}) protocol_.add_post(*inbox);
  EXPECT_TRUE(protocol_.has_posts());
  EXPECT_TRUE(protocol_.has_work());
  take();
  EXPECT_EQ(drained_, "bac");
  EXPECT_FALSE(protocol_.has_posts());
  EXPECT_FALSE(protocol_.has_work());
  take();
  EXPECT_EQ(drained_, "bac");
}

TEST_F(SharedProtocolTest, take_posts__what_finds_no_room_stays_for_the_next_time) {
  a_.stays = 1;
  protocol_.add_post(a_);
  protocol_.add_post(b_);
  take();
  EXPECT_EQ(drained_, "ab");
  EXPECT_TRUE(protocol_.has_posts());
  take();
  EXPECT_EQ(drained_, "aba");
  EXPECT_FALSE(protocol_.has_posts());
}

TEST_F(SharedProtocolTest, take_posts__a_post_while_an_inbox_is_drained_is_not_missed) {
  bool posted = false;
  a_.act = [&](protocol::SessionProtocol&) {
    if (!std::exchange(posted, true)) protocol_.add_post(a_);
  };
  protocol_.add_post(a_);
  take();
  EXPECT_TRUE(protocol_.has_posts());
  take();
  EXPECT_EQ(drained_, "aa");
}

// A drain() without memory throws, and the inboxes that were not drained stay.
TEST_F(SharedProtocolTest, take_posts__no_inbox_is_lost_without_memory) {
  b_.throws = 1;
  for (PaperInbox* inbox : {&a_, &b_, &c_}) protocol_.add_post(*inbox);
  EXPECT_THROW(take(), std::bad_alloc);
  EXPECT_EQ(drained_, "a");
  EXPECT_TRUE(protocol_.has_posts());
  protocol_.add_post(c_);
  take();
  EXPECT_EQ(drained_, "abc");
  EXPECT_FALSE(protocol_.has_posts());
}

TEST_F(SharedProtocolTest, publish__events_are_taken_once_and_counters_need_no_mutex) {
  EXPECT_FALSE(protocol_.may_write());
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    locked->add_lane(0, 0, 0);
    (void)locked->open_stream(Priority::normal, 7, 1);
    locked.publish();
  }
  EXPECT_TRUE(protocol_.may_write());
  EXPECT_TRUE(protocol_.has_work());
  EXPECT_EQ(protocol_.metrics().send_streams.value(), 1u);
  EXPECT_FALSE(protocol_.has_events());
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    std::array<std::byte, protocol::kFrameHeaderBytes> bytes;
    protocol::encode(protocol::OpenFrame{.stream = 0, .priority = 1, .listener = 7, .rail_mask = 1}, bytes);
    ASSERT_TRUE(locked->on_header(0, bytes).ok());
    ASSERT_TRUE(locked->on_consumed(0).ok());
    EXPECT_FALSE(protocol_.has_events()) << "before publish()";
    locked.publish();
    locked.publish();
  }
  EXPECT_TRUE(protocol_.has_events());
  const std::vector<protocol::Event> events = protocol_.take_events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, protocol::Event::Kind::incoming);
  EXPECT_FALSE(protocol_.has_events());
  EXPECT_TRUE(protocol_.take_events().empty());
}

TEST_F(SharedProtocolTest, fail__a_session_that_is_broken_serves_none_before_it_is_over) {
  EXPECT_TRUE(protocol_.serves());
  protocol_.mark_broken();
  EXPECT_FALSE(protocol_.serves());
  EXPECT_FALSE(protocol_.is_over());
  protocol_.lock().fail(Status(Code::remote, Scope::session, "first"));
  protocol_.lock().fail(Status(Code::remote, Scope::session, "second"));
  EXPECT_TRUE(protocol_.is_over());
  EXPECT_FALSE(protocol_.serves());
  EXPECT_EQ(protocol_.lock()->error().message(), "first");
}

TEST_F(SharedProtocolTest, say_goodbye__the_session_is_leaving_with_a_goodbye_to_write) {
  protocol_.lock()->add_lane(0, 0, 0);
  EXPECT_FALSE(protocol_.is_leaving());
  protocol_.lock().say_goodbye();
  EXPECT_TRUE(protocol_.is_leaving());
  EXPECT_TRUE(protocol_.may_write());
  EXPECT_FALSE(protocol_.goodbye_written());
  EXPECT_FALSE(protocol_.is_over());
}

}  // namespace
}  // namespace railweave::engine
