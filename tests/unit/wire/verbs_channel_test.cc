// Channels over queue pairs: the connection, blocks, waiting, and failures of the device.
#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/channel.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tests/unit/wire/verbs_pair.h"

namespace railweave::wire::verbs {
namespace {

using VerbsChannels = VerbsPair;

bool is_readable(const VerbsChannel& channel) {
  pollfd ready{channel.descriptor(), POLLIN, 0};
  return ::poll(&ready, 1, 0) == 1;
}

TEST_F(VerbsChannels, carry_blocks_both_ways) {
  connect();
  EXPECT_EQ(near->shape(), (message::ChannelShape{16 * 1024, 64}));
  ASSERT_TRUE(send(*near, "first"));
  ASSERT_TRUE(send(*near, "second"));
  ASSERT_TRUE(send(*far, "answer"));
  const auto at_far = poll(*far), at_near = poll(*near);
  ASSERT_EQ(at_far.size(), 2u);
  EXPECT_EQ(text_of(*far, at_far[0]), "first");
  EXPECT_EQ(text_of(*far, at_far[1]), "second");
  ASSERT_EQ(at_near.size(), 1u);
  EXPECT_EQ(text_of(*near, at_near[0]), "answer");
  EXPECT_EQ(near->left(), 2u);
  for (const auto& arrival : at_far) EXPECT_TRUE(*far->give_back(arrival.slot));
}

TEST_F(VerbsChannels, connect_with_the_values_of_both_ends) {
  fake->set_port("fake0", IBV_PORT_ACTIVE, IBV_MTU_1024);
  near = begin(near_rail, 104);
  fake->set_port("fake0", IBV_PORT_ACTIVE, IBV_MTU_4096);
  far = begin(far_rail);
  const auto far_address = decode_address(far->address());
  ASSERT_TRUE(near->connect(far->address()).ok());
  ASSERT_EQ(connect_error(*near), "");
  const ibv_qp_attr path = fake->newest_path();
  EXPECT_EQ(path.path_mtu, IBV_MTU_1024) << "the smaller of both ends";
  EXPECT_EQ(path.dest_qp_num, far_address.value().qpn);
  EXPECT_EQ(path.rq_psn, far_address.value().psn);
  EXPECT_EQ(path.ah_attr.grh.sgid_index, 1);
  EXPECT_EQ(path.ah_attr.grh.traffic_class, 104);
  EXPECT_EQ(path.ah_attr.grh.hop_limit, 255);
  EXPECT_EQ(path.max_dest_rd_atomic, 0);
  EXPECT_LT(path.ah_attr.grh.flow_label, 1u << 20);
  EXPECT_TRUE(std::equal(far_address.value().gid.begin(), far_address.value().gid.end(), path.ah_attr.grh.dgid.raw));
}

TEST_F(VerbsChannels, that_sleep_hear_of_a_device_that_goes) {
  connect();
  ASSERT_FALSE(is_readable(*near));
  fake->remove_device("fake0");
  const TimePoint until = deadline_after(kPatience);
  while (!is_readable(*near) && now() < until) std::this_thread::yield();
  EXPECT_TRUE(is_readable(*near));
  EXPECT_FALSE(poll_error(*near).ok());
}

TEST(VerbsQueuePairStates, retry_within_bounds_and_wait_for_receivers) {
  const ibv_qp_attr sending = to_ready_to_send(5).attributes;
  EXPECT_EQ(sending.sq_psn, 5u);
  EXPECT_EQ(sending.timeout, 17);
  EXPECT_EQ(sending.retry_cnt, 6) << "rxe takes 7 for without end";
  EXPECT_EQ(sending.rnr_retry, 7);
  EXPECT_EQ(sending.max_rd_atomic, 0);
  EXPECT_EQ(to_ready_to_receive(1, {}, {}).attributes.min_rnr_timer, 12);
  EXPECT_EQ(to_init(1).attributes.qp_access_flags, unsigned(IBV_ACCESS_LOCAL_WRITE)) << "peers have no access";
}

TEST_F(VerbsChannels, have_random_packet_numbers) {
  std::set<std::uint32_t> numbers;
  for (int i = 0; i < 8; ++i) numbers.insert(decode_address(begin(near_rail)->address()).value().psn);
  EXPECT_GT(numbers.size(), 4u);
}

TEST_F(VerbsChannels, refuse_an_address_of_another_kind) {
  near = begin(near_rail);
  EXPECT_EQ(near->connect({}).code(), Code::remote);
}

TEST_F(VerbsChannels, a_gid_that_moved_between_offer_and_answer_is_used) {
  near = begin(near_rail);
  far = begin(far_rail);
  const Gid gid = gid_of(near_rail.addresses[0]);
  fake->remove_gid("fake0", gid);
  fake->add_gid("fake0", {gid, 1, 9, true, 1});
  ASSERT_TRUE(near->connect(far->address()).ok());
  ASSERT_EQ(connect_error(*near), "");
  EXPECT_EQ(fake->newest_path().ah_attr.grh.sgid_index, 9);
}

TEST_F(VerbsChannels, a_gid_that_is_lost_before_the_answer_is_named) {
  near = begin(near_rail);
  far = begin(far_rail);
  fake->remove_gid("fake0", gid_of(near_rail.addresses[0]));
  ASSERT_TRUE(near->connect(far->address()).ok());
  EXPECT_EQ(connect_error(*near), "device fake0 port 1 has lost the GID 10.0.0.1");
  EXPECT_EQ(near->why_failed(), LaneEnd::system);
}

TEST_F(VerbsChannels, a_peer_that_is_not_resolved_is_unanswered) {
  near = begin(near_rail);
  far = begin(far_rail);
  fake->set_faults({.modify_qp = ETIMEDOUT});
  ASSERT_TRUE(near->connect(far->address()).ok());
  EXPECT_NE(connect_error(*near).find("ibv_modify_qp of queue pair"), std::string::npos);
  EXPECT_EQ(near->why_failed(), LaneEnd::unanswered);
}

TEST_F(VerbsChannels, a_queue_pair_that_does_not_exist_ends_the_channel) {
  near = begin(near_rail);
  ChannelAddress nobody = decode_address(near->address()).value();
  nobody.qpn = 0xfffff0;
  ASSERT_TRUE(near->connect(encode(nobody)).ok());
  ASSERT_EQ(connect_error(*near), "");
  ASSERT_TRUE(send(*near, "hello"));
  const Status failed = failure(*near);
  EXPECT_EQ(failed.code(), Code::remote);
  EXPECT_NE(failed.message().find("device fake0: queue pair "), std::string::npos) << failed.message();
  EXPECT_NE(failed.message().find("failed: retries exceeded (status 12"), std::string::npos) << failed.message();
  EXPECT_EQ(near->why_failed(), LaneEnd::unanswered);
  EXPECT_EQ(near->is_connected().status().message(), failed.message()) << "an error sticks";
}

TEST_F(VerbsChannels, a_post_that_is_refused_is_tried_again) {
  connect();
  fake->set_faults({.short_posts = 1});
  ASSERT_FALSE(near->next_slot().empty());
  const std::byte* const slot = near->next_slot().data();
  EXPECT_FALSE(send(*near, "later"));
  fake->set_faults({});
  EXPECT_EQ(near->next_slot().data(), slot) << "the same slot";
  EXPECT_TRUE(send(*near, "later"));
  const auto arrived = poll(*far);
  ASSERT_EQ(arrived.size(), 1u);
  fake->set_faults({.short_posts = 1});
  EXPECT_FALSE(*far->give_back(arrived[0].slot));
  fake->set_faults({});
  EXPECT_TRUE(*far->give_back(arrived[0].slot));
}

TEST_F(VerbsChannels, have_no_slot_while_all_are_under_way) {
  connect();
  fake->set_faults({.loses_sends = true});
  for (std::uint32_t i = 0; i < kSendSlots; ++i) ASSERT_TRUE(send(*near, "x"));
  EXPECT_TRUE(near->next_slot().empty());
  fake->complete(number_of(*near), IBV_WC_SUCCESS, std::uint64_t{1} << 32);
  poll(*near);
  EXPECT_EQ(near->left(), 1u);
  EXPECT_FALSE(near->next_slot().empty());
}

TEST_F(VerbsChannels, what_arrived_is_reported_before_the_failure) {
  connect();
  ASSERT_TRUE(send(*far, "one"));
  ASSERT_TRUE(send(*far, "two"));
  fake->complete(number_of(*near), IBV_WC_RETRY_EXC_ERR);
  std::array<message::Arrival, 1> one;
  for (int i = 0; i < 2; ++i) {
    auto n = near->poll(one);
    ASSERT_TRUE(n.ok()) << n.status().message();
    ASSERT_EQ(*n, 1u);
  }
  EXPECT_FALSE(poll_error(*near).ok());
}

struct CauseCase {
  std::vector<ibv_wc_status> completions;
  LaneEnd end;
  Code code;
};

TEST_F(VerbsChannels, the_cause_is_found_in_any_order) {
  const CauseCase cases[] = {
      {{IBV_WC_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR}, LaneEnd::unanswered, Code::remote},
      {{IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_RETRY_EXC_ERR}, LaneEnd::unanswered, Code::remote},
      {{IBV_WC_WR_FLUSH_ERR, IBV_WC_REM_OP_ERR, IBV_WC_RETRY_EXC_ERR}, LaneEnd::reset, Code::remote},
      {{IBV_WC_REM_INV_REQ_ERR}, LaneEnd::reset, Code::remote},
      {{IBV_WC_WR_FLUSH_ERR, IBV_WC_LOC_PROT_ERR}, LaneEnd::system, Code::system},
      {{IBV_WC_WR_FLUSH_ERR}, LaneEnd::reset, Code::remote}};
  for (const CauseCase& one : cases) {
    connect();
    for (const ibv_wc_status status : one.completions) fake->complete(number_of(*near), status);
    EXPECT_EQ(poll_error(*near).code(), one.code);
    EXPECT_EQ(near->why_failed(), one.end);
  }
}

TEST_F(VerbsChannels, a_call_that_fails_names_itself_unless_a_cause_follows) {
  connect();
  fake->set_faults({.post_send = EINVAL});
  EXPECT_FALSE(send(*near, "x")) << "not now: poll() tells why";
  EXPECT_NE(failure(*near).message().find("ibv_post_send of queue pair"), std::string::npos);
  EXPECT_EQ(near->why_failed(), LaneEnd::system);
  fake->set_faults({});
  connect();
  fake->set_faults({.post_send = EINVAL});
  EXPECT_FALSE(send(*near, "x"));
  fake->complete(number_of(*near), IBV_WC_RETRY_EXC_ERR);
  EXPECT_NE(failure(*near).message().find("retries exceeded"), std::string::npos);
}

TEST_F(VerbsChannels, an_event_ends_its_queue_pair_only) {
  for (const ibv_event_type event :
       {IBV_EVENT_QP_FATAL, IBV_EVENT_QP_ACCESS_ERR, IBV_EVENT_QP_REQ_ERR, IBV_EVENT_CQ_ERR}) {
    connect();
    fake->raise(number_of(*near), event);
    EXPECT_NE(failure(*near).message().find("failed by an event"), std::string::npos);
    EXPECT_TRUE(poll_error(*far).ok());
  }
}

TEST_F(VerbsChannels, an_event_before_the_answer_ends_the_channel) {
  near = begin(near_rail);
  far = begin(far_rail);
  fake->raise(number_of(*near), IBV_EVENT_QP_FATAL);
  ASSERT_TRUE(near->connect(far->address()).ok());
  EXPECT_FALSE(failure(*near).ok());
}

TEST_F(VerbsChannels, other_events_are_acknowledged_and_change_nothing) {
  connect();
  fake->raise(number_of(*near), IBV_EVENT_COMM_EST);
  for (const ibv_event_type event : {IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ACTIVE, IBV_EVENT_GID_CHANGE})
    fake->raise_of_port("fake0", event);
  EXPECT_TRUE(fake->wait_until([](const auto& counts) { return counts.acknowledged == 4; }));
  EXPECT_TRUE(poll_error(*near).ok());
  EXPECT_TRUE(send(*near, "still here"));
}

TEST_F(VerbsChannels, the_descriptor_tells_of_arrivals) {
  connect();
  EXPECT_TRUE(far->prepare_to_wait());
  EXPECT_FALSE(is_readable(*far));
  ASSERT_TRUE(send(*near, "news"));
  EXPECT_TRUE(is_readable(*far));
  EXPECT_EQ(poll(*far).size(), 1u);
  EXPECT_TRUE(far->prepare_to_wait());
  EXPECT_FALSE(is_readable(*far)) << "the notice was taken";
}

TEST_F(VerbsChannels, what_came_before_the_wait_is_no_reason_to_wait) {
  connect();
  ASSERT_TRUE(send(*near, "early"));
  EXPECT_FALSE(far->prepare_to_wait());
  EXPECT_FALSE(far->prepare_to_wait()) << "not before poll() has reported it";
  EXPECT_EQ(poll(*far).size(), 1u);
  EXPECT_TRUE(far->prepare_to_wait());
  EXPECT_FALSE(near->prepare_to_wait()) << "a block that left is news, too";
}

TEST_F(VerbsChannels, notices_are_acknowledged_in_batches) {
  connect();
  for (int i = 0; i < 40; ++i) {
    far->prepare_to_wait();
    ASSERT_TRUE(send(*near, "x"));
    poll(*near);
    for (const auto& arrival : poll(*far)) EXPECT_TRUE(*far->give_back(arrival.slot));
  }
  near.reset();
  far.reset();  // the fake fails the test if a notice stays unacknowledged
  EXPECT_TRUE(fake->wait_until([](const auto& counts) { return counts.pairs == 0; }));
}

}  // namespace
}  // namespace railweave::wire::verbs
#endif
