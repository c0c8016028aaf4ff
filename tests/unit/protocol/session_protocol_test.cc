#include "protocol/session_protocol.h"

#include <gtest/gtest.h>

#include "tests/unit/protocol/pair.h"

namespace railweave::protocol {
namespace {

class SessionProtocolTest : public ::testing::Test {
 protected:
  void send(SendStream& stream, const std::vector<std::byte>& data) {
    pair_.a().post(stream, requests_[requests_used_++], data.data(), data.size());
  }
  std::vector<std::byte>& receive(RecvStream& stream, std::size_t capacity) {
    buffers_.emplace_back(capacity);
    pair_.b().post(stream, requests_[requests_used_++], buffers_.back().data(), capacity);
    return buffers_.back();
  }
  std::size_t good(End end) {
    return std::size_t(std::ranges::count_if(pair_.done(end), [](const Completion& c) { return c.status.ok(); }));
  }

  Pair pair_;
  Requests requests_;
  std::size_t requests_used_ = 0;
  std::deque<std::vector<std::byte>> buffers_;
};

// ----------------------------------------------------------------------------------------------------------- streams

TEST_F(SessionProtocolTest, open_stream__is_answered_with_an_event_at_each_end) {
  pair_.add_lanes(1);
  SendStream& out = pair_.a().open_stream(Priority::urgent, 42, 0b101);
  pair_.run();
  ASSERT_EQ(pair_.events(End::b).size(), 1u);
  const Event incoming = pair_.events(End::b)[0];
  EXPECT_EQ(incoming.kind, Event::Kind::incoming);
  EXPECT_EQ(incoming.listener, 42u);
  EXPECT_TRUE(pair_.events(End::a).empty());
  pair_.b().accept_stream(incoming.stream, ~0ull);
  pair_.run();
  ASSERT_EQ(pair_.events(End::a).size(), 1u);
  EXPECT_EQ(pair_.events(End::a)[0].kind, Event::Kind::opened);
  EXPECT_EQ(pair_.events(End::a)[0].stream, out.id());
  EXPECT_TRUE(pair_.events(End::a)[0].status.ok());
}

TEST_F(SessionProtocolTest, refuse_stream__the_opener_learns_why_and_both_forget_it) {
  pair_.add_lanes(1);
  SendStream& out = pair_.a().open_stream(Priority::normal, 42, ~0ull);
  pair_.run();
  pair_.b().refuse_stream(out.id(), "no such listener");
  pair_.run();
  ASSERT_EQ(pair_.events(End::a).size(), 1u);
  EXPECT_NE(pair_.events(End::a)[0].status.message().find("no such listener"), std::string::npos);
  pair_.a().close(out);
  const Pair::Ends ends = pair_.open();  // traffic that carries `consumed`
  pair_.a().close(ends.out);
  pair_.b().close(ends.in);
  pair_.run();
  EXPECT_EQ(pair_.a().send_streams(), 0u);
}

TEST_F(SessionProtocolTest, on_open__opens_overtake_each_other_on_two_lanes) {
  pair_.add_lanes(2);
  SendStream& first = pair_.a().open_stream(Priority::normal, 1, ~0ull);
  ASSERT_EQ(pair_.take(End::a, 0, 1), 1u);
  pair_.write(End::a, 0);
  SendStream& second = pair_.a().open_stream(Priority::normal, 2, ~0ull);
  ASSERT_EQ(pair_.take(End::a, 1, 1), 1u);  // lane 0 holds more by now
  pair_.write(End::a, 1);
  pair_.receive(End::b, 1);
  pair_.receive(End::b, 0);
  ASSERT_EQ(pair_.events(End::b).size(), 2u);
  EXPECT_EQ(pair_.events(End::b)[0].stream, second.id());
  EXPECT_EQ(pair_.events(End::b)[1].stream, first.id());
}

// The address sanitizer would report a slot that is freed too early.
TEST_F(SessionProtocolTest, close__a_slot_outlives_the_payload_that_is_landing_there) {
  pair_.add_lanes(1);
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(5000, 1);
  send(ends.out, data);
  pair_.send(End::a, 0);
  auto target = pair_.read_header(End::b, 0);
  ASSERT_TRUE(target.ok());
  ASSERT_NE(target->data(), nullptr);
  pair_.b().close(ends.in);
  EXPECT_TRUE(pair_.read_payload(End::b, 0, *target).ok());
  pair_.run();
}

TEST_F(SessionProtocolTest, close__the_receivers_close_overtakes_its_opened) {
  pair_.add_lanes(2);
  SendStream& out = pair_.a().open_stream(Priority::normal, 1, ~0ull);
  pair_.run();
  RecvStream& in = pair_.b().accept_stream(out.id(), ~0ull);
  ASSERT_EQ(pair_.take(End::b, 0, 1) + pair_.take(End::b, 1, 1), 1u);
  pair_.b().close(in);
  ASSERT_EQ(pair_.take(End::b, 0, 1) + pair_.take(End::b, 1, 1), 1u);
  for (const LaneId lane : {LaneId(0), LaneId(1)}) pair_.write(End::b, lane);
  const bool opened_on_0 = pair_.written(End::b)[pair_.written(End::b).size() - 2].type == FrameType::opened;
  pair_.receive(End::a, opened_on_0 ? 1 : 0);
  ASSERT_EQ(pair_.events(End::a).size(), 1u);
  EXPECT_EQ(pair_.events(End::a)[0].kind, Event::Kind::opened);
  EXPECT_FALSE(pair_.events(End::a)[0].status.ok());
  pair_.receive(End::a, opened_on_0 ? 0 : 1);
  EXPECT_EQ(pair_.events(End::a).size(), 1u);
}

TEST_F(SessionProtocolTest, close__streams_are_forgotten_once_nothing_refers_to_them) {
  pair_.add_lanes(2);
  for (int i = 0; i < 200; ++i) {
    const Pair::Ends ends = pair_.open();
    const auto data = pattern(40'000);
    receive(ends.in, data.size());
    send(ends.out, data);
    pair_.run();
    EXPECT_TRUE(buffers_.back() == data);
    i % 2 ? pair_.a().close(ends.out) : pair_.b().close(ends.in);
    pair_.run();
    i % 2 ? pair_.b().close(ends.in) : pair_.a().close(ends.out);
    pair_.run();
    requests_used_ = 0;
  }
  EXPECT_LE(pair_.a().send_streams(), 60u);  // frames of the last few wait for a report of what was consumed
  EXPECT_LE(pair_.b().recv_streams(), 60u);
}

TEST_F(SessionProtocolTest, close__an_eager_message_on_its_way_while_both_close) {
  pair_.add_lanes(1);
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(100);
  send(ends.out, data);
  pair_.run();
  pair_.a().close(ends.out);
  pair_.b().close(ends.in);
  pair_.run();
  const Pair::Ends more = pair_.open();
  const StreamId id = more.out.id();
  pair_.run();
  EXPECT_EQ(pair_.a().send_streams(), 1u) << "stream " << id << " and no other";
  EXPECT_EQ(good(End::a), 1u);
}

TEST_F(SessionProtocolTest, close__the_receiver_waits_for_more_than_there_will_be) {
  pair_.add_lanes(1);
  const Pair::Ends ends = pair_.open();
  for (int i = 0; i < 3; ++i) receive(ends.in, 100);
  pair_.run();
  const auto data = pattern(100);
  send(ends.out, data);
  pair_.send(End::a, 0);
  pair_.a().close(ends.out);
  pair_.run();
  EXPECT_EQ(good(End::b), 1u);
  EXPECT_EQ(pair_.done(End::b).size(), 3u);
  pair_.b().close(ends.in);
  pair_.run();
  pair_.open();
  pair_.run();
  EXPECT_EQ(pair_.a().send_streams(), 1u);
}

// ---------------------------------------------------------------------------------------------------------- matching

TEST_F(SessionProtocolTest, post__messages_of_all_sizes_arrive_whole_over_three_lanes) {
  pair_.add_lanes(3);
  const Pair::Ends ends = pair_.open();
  std::vector<std::vector<std::byte>> sent;
  for (const std::size_t size : {0ul, 1ul, 127ul, 128ul, 16'384ul, 16'385ul, 65'536ul, 262'145ul, 3'000'001ul}) {
    sent.push_back(pattern(size, std::uint32_t(size)));
    receive(ends.in, size + size % 3);
  }
  for (const auto& data : sent) send(ends.out, data);
  pair_.run();
  ASSERT_EQ(good(End::a), sent.size());
  ASSERT_EQ(good(End::b), sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(pair_.done(End::b)[i].bytes, sent[i].size());
    EXPECT_TRUE(std::equal(sent[i].begin(), sent[i].end(), buffers_[i].begin())) << i;
  }
}

// The messages arrive by an eager slot, straight into the receive, and in many segments over both lanes.
TEST_F(SessionProtocolTest, post__a_tag_arrives_with_its_message) {
  pair_.add_lanes(2);
  const Pair::Ends ends = pair_.open();
  const std::vector<std::vector<std::byte>> sent{pattern(100, 1), pattern(0, 2), pattern(1'000'000, 3)};
  const auto tag = [](std::size_t i) { return ~std::uint64_t{0} - i; };
  pair_.a().post(ends.out, requests_[requests_used_++], sent[0].data(), sent[0].size(), tag(0));
  pair_.run();
  for (const auto& data : sent) receive(ends.in, data.size());
  for (std::size_t i = 1; i < sent.size(); ++i)
    pair_.a().post(ends.out, requests_[requests_used_++], sent[i].data(), sent[i].size(), tag(i));
  pair_.run();
  ASSERT_EQ(good(End::b), sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(pair_.done(End::b)[i].tag, tag(i)) << i;
}

TEST_F(SessionProtocolTest, post__a_smaller_receive_fails_at_both_ends) {
  pair_.add_lanes(2);
  for (const std::size_t size : {100ul, 100'000ul}) {
    const Pair::Ends ends = pair_.open();
    const auto data = pattern(size);
    send(ends.out, data);
    receive(ends.in, size - 1);
    pair_.run();
    EXPECT_EQ(ends.out.error().code(), Code::truncated);
    EXPECT_EQ(ends.in.error().code(), Code::truncated);
    EXPECT_EQ(pair_.done(End::b).back().status.code(), Code::truncated);
  }
  EXPECT_TRUE(pair_.a().error().ok());
  EXPECT_TRUE(pair_.b().error().ok());
}

TEST_F(SessionProtocolTest, withdraw__fails_the_stream_and_notifies_the_peer) {
  pair_.add_lanes(1);
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(100'000);
  send(ends.out, data);
  std::vector<std::byte>& buffer = receive(ends.in, data.size());
  EXPECT_FALSE(pair_.b().withdraw(ends.in, {buffer.data() + buffer.size(), 1}));
  EXPECT_TRUE(pair_.b().withdraw(ends.in, std::span(buffer).last(1)));
  EXPECT_EQ(pair_.done(End::b).back().status.code(), Code::cancelled);
  pair_.run();
  ASSERT_EQ(pair_.done(End::a).size(), 1u);
  EXPECT_EQ(pair_.done(End::a)[0].status.code(), Code::left);
  EXPECT_EQ(ends.out.error().scope(), Scope::stream);
}

// ----------------------------------------------------------------------------------------------------- acks and done

TEST_F(SessionProtocolTest, on_written__a_receive_is_done_only_when_its_ack_was_written) {
  pair_.add_lanes(1);
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(60'000);
  receive(ends.in, data.size());
  pair_.run();
  send(ends.out, data);
  pair_.send(End::a, 0);
  pair_.receive(End::b, 0);
  EXPECT_EQ(pair_.done(End::b).size(), 0u);
  ASSERT_EQ(pair_.take(End::b, 0), 1u);
  EXPECT_EQ(pair_.done(End::b).size(), 0u);
  pair_.write(End::b, 0);
  EXPECT_EQ(pair_.done(End::b).size(), 1u);
  EXPECT_EQ(pair_.done(End::a).size(), 0u);
  pair_.receive(End::a, 0);
  EXPECT_EQ(pair_.done(End::a).size(), 1u);
}

TEST_F(SessionProtocolTest, publish_without_acks__when_every_lane_is_stuck) {
  pair_.add_lanes(1);
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(60'000);
  receive(ends.in, data.size());
  pair_.run();
  send(ends.out, data);
  pair_.send(End::a, 0);
  pair_.receive(End::b, 0);
  pair_.b().publish_without_acks();
  EXPECT_EQ(pair_.done(End::b).size(), 1u);
  pair_.run();
  EXPECT_EQ(pair_.done(End::b).size(), 1u);
  EXPECT_EQ(pair_.done(End::a).size(), 1u);
}

TEST_F(SessionProtocolTest, next_frames__lazy_acks_wait_for_company_unless_flushed) {
  pair_.add_lanes(1);
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(8);
  receive(ends.in, 8);
  pair_.run();
  send(ends.out, data);
  pair_.send(End::a, 0);
  pair_.receive(End::b, 0);
  EXPECT_EQ(pair_.done(End::b).size(), 1u);  // eager: no ack needed
  EXPECT_TRUE(pair_.b().has_lazy());
  EXPECT_EQ(pair_.take(End::b, 0, 16, false), 0u);
  EXPECT_EQ(pair_.take(End::b, 0, 16, true), 1u);
}

TEST_F(SessionProtocolTest, next_frames__lazy_grants_go_ahead_of_long_data) {
  pair_.add_lanes(1);
  const Pair::Ends there = pair_.open();
  SendStream& back = pair_.b().open_stream(Priority::normal, 7, ~0ull);
  pair_.run();
  RecvStream& in = pair_.a().accept_stream(back.id(), ~0ull);
  pair_.run();
  const auto data = pattern(1 * MiB);
  std::vector<std::byte> landing(data.size());
  pair_.a().post(in, requests_[0], landing.data(), landing.size());
  pair_.run();  // granted: b may send all of it
  pair_.b().post(back, requests_[0], data.data(), data.size());
  for (std::size_t m = 0; m < 8; ++m) receive(there.in, 100'000);
  EXPECT_TRUE(pair_.b().has_lazy());
  pair_.written(End::b).clear();
  pair_.send(End::b, 0);
  const auto& frames = pair_.written(End::b);
  const auto is = [](FrameType type) { return [type](const FrameHeader& h) { return h.type == type; }; };
  const auto first_data = std::ranges::find_if(frames, is(FrameType::segment));
  ASSERT_NE(first_data, frames.end());
  EXPECT_EQ(std::count_if(frames.begin(), first_data, is(FrameType::grant)), 8);
  pair_.run();
  EXPECT_EQ(landing, data);
}

// ------------------------------------------------------------------------------------------------------------ ending

TEST_F(SessionProtocolTest, fail__ends_every_request_once_and_the_first_error_sticks) {
  pair_.add_lanes(1);
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(100'000);
  send(ends.out, data);
  receive(ends.in, data.size());
  SendStream& opening = pair_.a().open_stream(Priority::normal, 1, ~0ull);
  pair_.a().fail(Status(Code::remote, Scope::session, "gone"));
  pair_.a().fail(Status(Code::internal, Scope::session, "later"));
  ASSERT_EQ(pair_.done(End::a).size(), 1u);
  EXPECT_EQ(pair_.done(End::a)[0].status.message(), "gone");
  EXPECT_EQ(pair_.events(End::a).back().stream, opening.id());
  EXPECT_EQ(pair_.events(End::a).back().status.message(), "gone");
  EXPECT_EQ(pair_.a().error().message(), "gone");
  send(ends.out, data);
  EXPECT_EQ(pair_.done(End::a).size(), 2u);
  std::uint64_t sends = 0, receives = 0;
  pair_.a().count_unfinished(sends, receives);
  EXPECT_EQ(sends, 0u);
  SendStream& late = pair_.a().open_stream(Priority::normal, 1, ~0ull);
  EXPECT_TRUE(late.failed());
}

TEST_F(SessionProtocolTest, fail__the_peer_is_not_notified_of_what_ends_with_it) {
  pair_.add_lanes(1);
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(100'000);
  receive(ends.in, data.size());
  pair_.run();
  pair_.b().fail(Status(Code::remote, Scope::session, "gone"));
  EXPECT_EQ(pair_.take(End::b, 0), 0u);  // the peer would take it for a close of the receiver
  pair_.b().close(ends.in);
  EXPECT_EQ(pair_.take(End::b, 0), 0u);
}

TEST_F(SessionProtocolTest, fail__a_small_message_that_is_here_can_still_be_received) {
  pair_.add_lanes(1);
  const Pair::Ends ends = pair_.open();
  const auto data = pattern(100);
  send(ends.out, data);
  pair_.run();
  pair_.b().fail(Status(Code::remote, Scope::session, "gone"));
  EXPECT_TRUE(receive(ends.in, data.size()) == data);
  EXPECT_EQ(good(End::b), 1u);
  receive(ends.in, data.size());
  EXPECT_EQ(pair_.done(End::b).back().status.message(), "gone");
}

// The lane of the GOODBYE is lost: until the peer's fence arrives, it is unknown whether the GOODBYE arrived.
TEST_F(SessionProtocolTest, say_goodbye__lost_with_its_lane_is_not_written) {
  pair_.add_lanes(2);
  pair_.a().say_goodbye();
  const LaneId by = pair_.send(End::a, 0) > 0 ? 0 : 1;
  if (by == 1) pair_.send(End::a, 1);
  ASSERT_TRUE(pair_.a().goodbye_written());
  pair_.lose_both(by);
  EXPECT_FALSE(pair_.a().goodbye_written());
  pair_.send(End::b, LaneId(1 - by));
  pair_.receive(End::a, LaneId(1 - by));
  EXPECT_FALSE(pair_.a().goodbye_written()) << "fenced, and to go again";
  pair_.run();
  EXPECT_TRUE(pair_.a().goodbye_written());
  EXPECT_TRUE(pair_.b().peer_said_goodbye());
}

TEST_F(SessionProtocolTest, say_goodbye__the_peer_is_notified) {
  pair_.add_lanes(1);
  pair_.a().say_goodbye();
  EXPECT_FALSE(pair_.a().goodbye_written());
  EXPECT_TRUE(pair_.a().has_control());
  pair_.run();
  EXPECT_TRUE(pair_.a().goodbye_written());
  EXPECT_TRUE(pair_.b().peer_said_goodbye());
  EXPECT_EQ(pair_.events(End::b).back().kind, Event::Kind::goodbye);
}

}  // namespace
}  // namespace railweave::protocol
