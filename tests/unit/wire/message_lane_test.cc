// MessageLane beyond the contract suite: failures of the device, malformed blocks, peers that die, and credit.
#include "wire/message/lane.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <utility>

#include "base/clock.h"
#include "tests/unit/wire/counting_handler.h"
#include "tests/unit/wire/fake_channel.h"
#include "wire/message/offer.h"
#include "wire/message/pending_lane.h"

namespace railweave::wire::message {
namespace {

// Two lanes over a fake device; or one lane, whose peer the test plays itself.
class MessageLaneTest : public testing::Test {
 protected:
  void connect(const FakeChannelOptions& options = {}) {
    make_device(options);
    near = std::make_unique<MessageLane>(std::make_unique<FakeChannel>(device, 0), PeerSocket(OwnedFd(sockets[0])),
                                         "fake", "fake", options.shape);
    far = std::make_unique<MessageLane>(std::make_unique<FakeChannel>(device, 1), PeerSocket(OwnedFd(sockets[1])),
                                        "fake", "fake", options.shape);
    for (int i = 0; i < 100; ++i, device->step()) {
      auto near_proven = near->is_proven(), far_proven = far->is_proven();
      ASSERT_TRUE(near_proven.ok() && far_proven.ok());
      if (*near_proven && *far_proven) return;
    }
    FAIL() << "not proven";
  }
  void connect_to_test(const FakeChannelOptions& options = {}) {
    make_device(options);
    near = std::make_unique<MessageLane>(std::make_unique<FakeChannel>(device, 0), PeerSocket(OwnedFd(sockets[0])),
                                         "fake", "fake", device->options.shape);
    played = std::make_unique<FakeChannel>(device, 1);
    played_socket = OwnedFd(sockets[1]);
  }
  void make_device(const FakeChannelOptions& options) {
    device = std::make_shared<FakeDevice>(options);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
  }
  void prove() {
    send_block({.number = 0, .probe = true});
    (void)near->is_proven();  // sends the probe
    auto proven = near->is_proven();
    ASSERT_TRUE(proven.ok()) << proven.status().message();
    ASSERT_TRUE(*proven);
  }

  // Sends a block in the place of the peer.
  void send_block(const Prefix& prefix, std::size_t behind = 0) {
    const auto slot = played->next_slot();
    encode(prefix, slot.first<kPrefixBytes>());
    ASSERT_TRUE(*played->send(kPrefixBytes + behind));
    std::array<Arrival, 32> arrivals;
    ASSERT_TRUE(played->poll(arrivals).ok());  // frees the slot
  }
  std::string read_error(MessageLane& lane, CountingHandler& handler) {
    for (int i = 0; i < 200; ++i, device->step())
      if (auto moved = lane.read(handler, 1 * MiB); !moved.ok()) return moved.status().message();
    return "none";
  }
  // Both ends write and read until all of `a` arrived, and what that made necessary is done.
  void carry() {
    for (int i = 0, still = 0; i < 10'000 && still < 20; ++i, device->step()) {
      std::size_t moved = 0;
      for (auto [lane, handler] : {std::pair(near.get(), &a), std::pair(far.get(), &b)}) {
        auto out = lane->write(*handler);
        auto in = lane->read(*handler, 1 * MiB);
        ASSERT_TRUE(out.ok() && in.ok());
        moved += out->bytes + in->bytes;
      }
      still = moved == 0 ? still + 1 : 0;
    }
  }

  std::shared_ptr<FakeDevice> device;
  int sockets[2] = {-1, -1};
  std::unique_ptr<MessageLane> near, far;
  std::unique_ptr<FakeChannel> played;
  OwnedFd played_socket;
  CountingHandler a, b;
};

TEST(PeerSocketTest, a_flood_of_bytes_is_read_in_parts_and_its_end_is_seen) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
  PeerSocket socket{OwnedFd(sockets[0])};
  OwnedFd peer(sockets[1]);
  const std::string flood(10'240, 'A');  // whole reads only
  ASSERT_EQ(::send(peer.get(), flood.data(), flood.size(), 0), ssize_t(flood.size()));
  peer.reset();
  socket.read();
  EXPECT_FALSE(socket.ended());
  for (int i = 0; i < 10 && !socket.ended(); ++i) socket.read();
  EXPECT_EQ(socket.ended(), LaneEnd::closed);
}

TEST_F(MessageLaneTest, a_lane_is_not_proven_before_its_own_probe_has_left) {
  connect_to_test({.delay = 1});
  send_block({.number = 0, .probe = true});
  device->step();
  for (int i = 0; i < 3; ++i) {
    auto proven = near->is_proven();
    ASSERT_TRUE(proven.ok()) << proven.status().message();
    EXPECT_FALSE(*proven) << "the peer's probe arrived, and ours is under way";
  }
  device->step();
  auto proven = near->is_proven();
  ASSERT_TRUE(proven.ok()) << proven.status().message();
  EXPECT_TRUE(*proven);
}

TEST_F(MessageLaneTest, small_frames_share_blocks) {
  connect();
  const std::uint64_t before = device->ends[0].sent;
  a.to_send = std::deque<std::size_t>(16, 8);
  carry();
  EXPECT_EQ(b.arrived, 16u);
  EXPECT_LE(device->ends[0].sent - before, 1u);
}

TEST_F(MessageLaneTest, idle_lanes_send_nothing) {
  connect();
  a.to_send = {100'000};
  b.to_send = {100'000, 5};
  carry();
  const std::uint64_t before = device->ends[0].sent + device->ends[1].sent;
  carry();
  EXPECT_EQ(device->ends[0].sent + device->ends[1].sent, before);
}

TEST_F(MessageLaneTest, a_long_transfer_one_way_needs_few_statements) {
  FakeChannelOptions options;
  options.shape = {16 * KiB, 64};
  connect(options);
  a.to_send = std::deque<std::size_t>(100, 1 * MiB);
  carry();
  EXPECT_EQ(b.arrived_payload, 100 * MiB);
  EXPECT_LT(device->ends[1].sent, device->ends[0].sent / 4);
}

TEST_F(MessageLaneTest, a_device_that_fails_ends_the_lane_after_all_that_arrived) {
  FakeChannelOptions options;
  options.blocks_most = 4;
  connect(options);
  a.to_send = {100, 100, 1 * MiB};
  for (int i = 0; i < 5; ++i) {
    auto moved = near->write(a);
    ASSERT_TRUE(moved.ok());
  }
  EXPECT_TRUE(near->write(a)->blocked);
  EXPECT_EQ(read_error(*near, a), "rail fake: 0.0.0.0:0 to 0.0.0.0:0: the fake device broke");
  EXPECT_EQ(near->why_ended(), LaneEnd::unanswered);
  ASSERT_TRUE(far->read(b, 1 * MiB).ok());
  EXPECT_EQ(b.arrived, 2u);
}

TEST_F(MessageLaneTest, a_dead_peer_ends_the_lane_after_all_that_arrived) {
  connect();
  b.to_send = {1000, 2000};
  ASSERT_TRUE(far->write(b).ok());
  far.reset();
  EXPECT_EQ(read_error(*near, a), "rail fake: 0.0.0.0:0 to 0.0.0.0:0: closed by the peer");
  EXPECT_EQ(near->why_ended(), LaneEnd::closed);
  EXPECT_EQ(a.arrived, 2u);
}

// The blocks may arrive while the lane finds the end of the socket.
TEST_F(MessageLaneTest, a_dead_peer_ends_the_lane_after_all_that_arrives_meanwhile) {
  constexpr int kPollsBefore = 32;  // the look at the socket
  for (int polls = 1; polls <= kPollsBefore; ++polls) {
    connect();
    b.to_send = {1000, 2000};
    ASSERT_TRUE(far->write(b).ok());
    far.reset();
    device->ends[0].blind_polls = polls;
    a.arrived = 0;
    EXPECT_NE(read_error(*near, a).find("closed by the peer"), std::string::npos);
    EXPECT_EQ(a.arrived, 2u) << "blocks came with poll " << polls + 1;
  }
}

TEST_F(MessageLaneTest, a_peer_that_dies_before_the_proof_ends_the_lane) {
  connect_to_test();
  ASSERT_TRUE(near->is_proven().ok());
  played_socket.reset();
  EXPECT_EQ(near->is_proven().status().message(), "rail fake: 0.0.0.0:0 to 0.0.0.0:0: closed by the peer");
}

TEST_F(MessageLaneTest, the_first_block_must_be_a_probe) {
  connect_to_test();
  send_block({});
  EXPECT_EQ(near->is_proven().status().message(),
            "rail fake: 0.0.0.0:0 to 0.0.0.0:0: malformed block: the first one is no probe");
}

TEST_F(MessageLaneTest, a_probe_comes_first_only) {
  connect_to_test();
  prove();
  send_block({.number = 1, .probe = true});
  EXPECT_EQ(read_error(*near, a),
            "rail fake: 0.0.0.0:0 to 0.0.0.0:0: malformed block: a probe that is not the first block");
}

TEST_F(MessageLaneTest, malformed_blocks_end_the_lane_by_name) {
  connect_to_test();
  prove();
  send_block({.number = 1, .bytes = 100}, 50);
  EXPECT_EQ(read_error(*near, a),
            "rail fake: 0.0.0.0:0 to 0.0.0.0:0: malformed block: 100 bytes of the stream in a block of 66");
  EXPECT_TRUE(near->write(a)->blocked);
}

TEST_F(MessageLaneTest, impossible_credit_ends_the_lane_by_name) {
  connect_to_test();
  prove();
  send_block({.number = 1, .returned = 2});
  EXPECT_EQ(read_error(*near, a),
            "rail fake: 0.0.0.0:0 to 0.0.0.0:0: malformed block: 2 more slots given back, expected at most 1");
}

TEST_F(MessageLaneTest, a_peer_that_gives_no_slot_back_stops_the_writer) {
  connect_to_test();
  prove();
  a.to_send = {1 * MiB};
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(near->write(a).ok());
  EXPECT_EQ(device->ends[0].sent, 14u) << "16 slots, less two for credit alone";
  EXPECT_TRUE(near->write(a)->blocked);
}

// A channel that may lose blocks without an error. Health looks at the lanes now and then, as the engine's does.
class LossyMessageLaneTest : public MessageLaneTest {
 protected:
  LossyMessageLaneTest() {
    FakeChannelOptions options;
    options.may_lose = true;
    connect(options);
  }
  // Reads at both ends until one fails. Returns that end's error.
  std::string error_of_either() {
    const TimePoint until = deadline_after(std::chrono::seconds(20));
    while (now() < until)
      if (std::string error = error_of_one_look(); !error.empty()) return error;
    return "none";
  }
  // Looks at both lanes once, and reads. Empty: no error.
  std::string error_of_one_look() {
    for (auto [lane, handler] : {std::pair(near.get(), &a), std::pair(far.get(), &b)}) {
      (void)lane->ack_status();
      failed = lane;
      if (auto moved = lane->read(*handler, 1 * MiB); !moved.ok()) return moved.status().message();
    }
    device->step();
    return {};
  }
  const MessageLane* failed = nullptr;
};

TEST_F(LossyMessageLaneTest, the_next_block_shows_that_one_was_lost) {
  device->ends[0].to_lose = 1;
  a.to_send = {100'000};
  ASSERT_TRUE(near->write(a).ok());
  EXPECT_EQ(
      error_of_either(),
      "rail fake: 0.0.0.0:0 to 0.0.0.0:0: block 1 was lost and 2 arrived: the connection below broke and came back");
  EXPECT_EQ(failed, far.get());
  EXPECT_EQ(failed->why_ended(), LaneEnd::reset);
}

TEST_F(LossyMessageLaneTest, a_question_shows_that_the_last_block_was_lost) {
  device->ends[0].to_lose = 1;
  a.to_send = {100};
  ASSERT_TRUE(near->write(a).ok());
  EXPECT_NE(error_of_either().find("block 1 was lost and 2 arrived"), std::string::npos);
  EXPECT_EQ(failed, far.get());
}

TEST_F(LossyMessageLaneTest, the_answer_shows_that_a_statement_was_lost) {
  device->ends[1].to_lose = 1;
  a.to_send = {100};
  ASSERT_TRUE(near->write(a).ok());
  EXPECT_NE(error_of_either().find("block 1 was lost and 2 arrived"), std::string::npos);
  EXPECT_EQ(failed, near.get());
}

TEST_F(LossyMessageLaneTest, a_peer_that_is_slow_to_read_is_asked_once_and_answers) {
  a.to_send = {100, 100};
  ASSERT_TRUE(near->write(a).ok());
  const std::uint64_t before = device->ends[0].sent;
  const TimePoint until = deadline_after(std::chrono::milliseconds(700));
  for (; now() < until; device->step()) (void)near->ack_status();
  EXPECT_EQ(device->ends[0].sent, before + 1) << "one question";
  carry();
  EXPECT_EQ(b.arrived, 2u);
  EXPECT_EQ(near->health().outstanding_bytes, 0u);
  a.to_send = {100};
  ASSERT_TRUE(near->write(a).ok());
  device->ends[1].to_lose = 1;
  EXPECT_NE(error_of_either().find("was lost"), std::string::npos) << "a second question";
}

TEST_F(LossyMessageLaneTest, idle_lanes_send_nothing) {
  a.to_send = {100'000};
  b.to_send = {100'000, 5};
  carry();
  const std::uint64_t before = device->ends[0].sent + device->ends[1].sent;
  const TimePoint until = deadline_after(std::chrono::milliseconds(700));  // more than three questions would take
  while (now() < until) EXPECT_EQ(error_of_one_look(), "");
  EXPECT_EQ(device->ends[0].sent + device->ends[1].sent, before);
}

TEST_F(MessageLaneTest, a_channel_that_loses_nothing_is_never_asked) {
  connect();
  a.to_send = {100};
  ASSERT_TRUE(near->write(a).ok());
  const std::uint64_t before = device->ends[0].sent;
  const TimePoint until = deadline_after(std::chrono::milliseconds(300));
  for (; now() < until; device->step()) (void)near->ack_status();
  EXPECT_EQ(device->ends[0].sent, before);
}

TEST_F(MessageLaneTest, an_end_in_mid_frame_is_named) {
  connect_to_test();
  prove();
  send_block({.number = 1, .bytes = 10}, 10);
  played_socket.reset();
  EXPECT_EQ(read_error(*near, a), "rail fake: 0.0.0.0:0 to 0.0.0.0:0: closed by the peer in the middle of a frame");
}

TEST(PendingMessageLanes, a_peer_that_leaves_before_it_is_ready_is_named) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
  const auto device = std::make_shared<FakeDevice>(FakeChannelOptions{});
  PendingMessageLane pending(std::make_unique<FakeChannel>(device, 0), "fake", "fake");
  ASSERT_TRUE(pending.complete({encode(ChannelOffer{device->options.shape, {std::byte{'f'}}})}).ok());
  pending.start({OwnedFd(sockets[0])});
  ASSERT_TRUE(pending.poll().ok());
  OwnedFd(sockets[1]).reset();
  EXPECT_EQ(pending.poll().status().message(), "the peer closed the connection before its end of the lane was ready");
}

TEST(PendingMessageLanes, an_address_of_another_kind_is_refused) {
  const auto device = std::make_shared<FakeDevice>(FakeChannelOptions{});
  PendingMessageLane pending(std::make_unique<FakeChannel>(device, 0), "fake", "fake");
  EXPECT_EQ(pending.complete({encode(ChannelOffer{device->options.shape, {}})}).code(), Code::remote);
  EXPECT_EQ(pending.complete({}).message(), "malformed offer: 0 bytes, expected 12 to 140");
}

}  // namespace
}  // namespace railweave::wire::message
