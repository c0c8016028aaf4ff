// Channels and endpoints of the wire ofi over a libfabric in memory: what the library may answer, and how things end.
#if __has_include(<rdma/fabric.h>)
#include "wire/ofi/channel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "tests/unit/wire/fake_fabric.h"
#include "wire/ofi/endpoint_thread.h"

namespace railweave::wire::ofi {
namespace {

using message::Arrival;
using Role = Port::Role;
const message::ChannelShape kShape = shape_of("fake");
constexpr Nanos kLong = std::chrono::seconds(20);

bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 20'000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

class OfiChannels : public ::testing::Test {
 protected:
  void SetUp() override { start(kLong); }
  void start(Nanos slow, bool may_lose_blocks = false) {
    InfoPointer info(FakeFabric::make_info(), library.freeinfo);
    info->fabric_attr->prov_name = ::strdup("fake");
    info->addr_format = FI_ADDR_EFA;
    info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    auto started =
        EndpointThread::start(library, Provider{.info = std::move(info), .may_lose_blocks = may_lose_blocks}, slow);
    ASSERT_TRUE(started.ok()) << started.status().message();
    thread = std::move(*started);
  }
  void TearDown() override {
    fabric.hold_closing(false);
    near.reset();
    far.reset();
    thread.reset();
    EXPECT_TRUE(comes_true([&] { return fabric.open_fabrics == 0; }));
    EXPECT_EQ(fabric.open_endpoints, 0);
  }

  // Endpoints get the numbers 0, 1...
  std::unique_ptr<OfiChannel> channel(Role role, std::uint32_t token) {
    auto endpoint = thread->open(kLong);
    EXPECT_TRUE(endpoint.ok()) << endpoint.status().message();
    return std::make_unique<OfiChannel>(thread, std::move(*endpoint), role, token);
  }
  void connect() {
    near = channel(Role::dialler, 11);
    far = channel(Role::acceptor, 22);
    EXPECT_TRUE(near->connect(far->address()).ok());
    EXPECT_TRUE(far->connect(near->address()).ok());
    EXPECT_TRUE(near->is_connected().ok() && far->is_connected().ok());
  }

  static bool send(OfiChannel& from, char content) {
    from.next_slot()[0] = std::byte(content);
    auto sent = from.send(1);
    EXPECT_TRUE(sent.ok()) << sent.status().message();
    return sent.ok() && *sent;
  }
  // Polls once, and returns the first bytes of the blocks that arrived.
  static std::string poll(OfiChannel& channel) {
    std::array<Arrival, 8> arrivals;
    auto n = channel.poll(arrivals);
    if (!n.ok()) return n.status().message();
    std::string content;
    for (std::size_t i = 0; i < *n; ++i) content += char(channel.slot(arrivals[i].slot)[0]);
    return content;
  }
  void report(std::uint64_t endpoint, int error, std::uint64_t flags = FI_SEND) {
    fi_cq_err_entry entry{};
    entry.err = error;
    entry.flags = flags;
    entry.prov_errno = 7;
    fabric.endpoint(endpoint).queue->errors.push_back(entry);
  }

  FakeFabric fabric;
  const Library library = fabric.library();
  std::shared_ptr<EndpointThread> thread;
  std::unique_ptr<OfiChannel> near, far;
};

TEST_F(OfiChannels, blocks_travel_both_ways) {
  connect();
  EXPECT_TRUE(send(*near, 'a') && send(*near, 'b'));
  EXPECT_EQ(poll(*far), "ab");
  EXPECT_TRUE(send(*far, 'c'));
  EXPECT_EQ(poll(*near), "c");
  EXPECT_EQ(near->left(), 2u);
}

TEST_F(OfiChannels, a_block_that_must_not_be_lost_asks_for_its_delivery) {
  connect();
  EXPECT_FALSE(near->may_lose_blocks());
  near->next_slot()[0] = std::byte{'a'};
  EXPECT_TRUE(*near->send_surely(1));
  EXPECT_EQ(fabric.sendmsg_flags, 0u) << "each block of this endpoint asks anyway";
  near.reset(), far.reset();
  thread.reset();
  start(kLong, true);
  connect();
  EXPECT_TRUE(near->may_lose_blocks());
  EXPECT_TRUE(send(*near, 'b'));
  EXPECT_EQ(fabric.sendmsg_flags, 0u);
  near->next_slot()[0] = std::byte{'c'};
  EXPECT_TRUE(*near->send_surely(1));
  EXPECT_EQ(fabric.sendmsg_flags, FI_REMOTE_CQ_DATA | FI_COMPLETION | FI_DELIVERY_COMPLETE);
  EXPECT_EQ(poll(*far), "bc");
}

TEST_F(OfiChannels, the_acceptor_sends_once_it_has_a_block) {
  connect();
  EXPECT_FALSE(send(*far, 'x'));
  EXPECT_TRUE(send(*near, 'a'));
  EXPECT_FALSE(send(*far, 'x'));
  EXPECT_EQ(poll(*far), "a");
  EXPECT_TRUE(send(*far, 'x'));
}

TEST_F(OfiChannels, try_again_is_no_error) {
  connect();
  fabric.again = 1;
  EXPECT_FALSE(send(*near, 'a'));
  EXPECT_TRUE(send(*near, 'a'));
  std::array<Arrival, 8> arrivals;
  EXPECT_EQ(far->poll(arrivals).value(), 1u);
  fabric.again = 1;
  EXPECT_FALSE(far->give_back(arrivals[0].slot).value());
  EXPECT_TRUE(far->give_back(arrivals[0].slot).value());
}

TEST_F(OfiChannels, receives_that_were_refused_are_posted_later) {
  fabric.again = 2;
  connect();  // each channel tries once when it is made
  EXPECT_EQ(fabric.endpoint(0).receives.size(), kShape.receive_slots);
  EXPECT_TRUE(far->prepare_to_wait());
  fabric.again = 1;
  auto third = channel(Role::dialler, 33);
  EXPECT_FALSE(third->prepare_to_wait());
  EXPECT_EQ(fabric.endpoint(2).receives.size(), 0u);
  poll(*third);
  EXPECT_EQ(fabric.endpoint(2).receives.size(), kShape.receive_slots);
}

TEST_F(OfiChannels, every_slot_in_use_leaves_none) {
  connect();
  for (std::uint32_t i = 0; i < kShape.receive_slots; ++i) ASSERT_TRUE(send(*near, 'a'));
  EXPECT_TRUE(near->next_slot().empty());
  poll(*near);
  EXPECT_EQ(near->next_slot().size(), kShape.slot_bytes);
}

TEST_F(OfiChannels, left_counts_the_oldest_whatever_the_order) {
  connect();
  for (int i = 0; i < 3; ++i) send(*near, 'a');
  auto& done = fabric.endpoint(0).queue->done;
  ASSERT_EQ(done.size(), 3u);
  const fi_cq_data_entry first = done.front();
  done.pop_front();
  poll(*near);
  EXPECT_EQ(near->left(), 0u);
  done.push_back(first);
  poll(*near);
  EXPECT_EQ(near->left(), 3u);
}

TEST_F(OfiChannels, a_block_without_the_token_is_no_block) {
  connect();
  const std::byte stranger[1] = {std::byte{'s'}};
  for (std::uint32_t i = 0; i < kShape.receive_slots; ++i) fabric.send_from_nowhere(1, stranger, 11);
  for (std::uint32_t i = 0; i < 2 * kShape.receive_slots; ++i) EXPECT_EQ(poll(*far), "");
  EXPECT_EQ(fabric.endpoint(1).receives.size(), kShape.receive_slots);
  EXPECT_FALSE(send(*far, 'x')) << "the stranger is not the peer";
}

TEST_F(OfiChannels, what_arrived_comes_before_an_error) {
  connect();
  send(*near, 'a');
  report(1, FI_ECONNRESET);
  EXPECT_EQ(poll(*far), "a");
  EXPECT_EQ(
      poll(*far),
      "provider fake: fi_senddata (provider's error 7: the fake's own text): Connection reset by peer (error 104)");
  EXPECT_EQ(far->why_failed(), LaneEnd::reset);
  EXPECT_FALSE(far->send(1).ok());
}

TEST_F(OfiChannels, the_cause_is_not_the_cancellation) {
  connect();
  report(0, FI_ECANCELED, FI_RECV);
  report(0, FI_ECONNREFUSED);
  report(0, FI_EIO);
  std::array<Arrival, 8> arrivals;
  const auto polled = near->poll(arrivals);
  EXPECT_EQ(polled.status().code(), Code::remote);
  EXPECT_EQ(near->why_failed(), LaneEnd::refused);
}

TEST_F(OfiChannels, a_call_that_fails_ends_the_channel) {
  connect();
  fabric.refused_call = "fi_senddata";
  const auto sent = near->send(1);
  EXPECT_EQ(sent.status().message(), "provider fake: fi_senddata: Input/output error (error 5)");
  EXPECT_EQ(near->why_failed(), LaneEnd::system);
  EXPECT_FALSE(near->prepare_to_wait());
}

TEST_F(OfiChannels, an_address_of_another_kind_is_refused) {
  near = channel(Role::dialler, 1);
  EXPECT_EQ(near->connect({}).code(), Code::remote);
  fabric.refused_call = "fi_av_insert";
  EXPECT_EQ(near->connect(near->address()).code(), Code::remote);
}

// --- endpoints

TEST_F(OfiChannels, a_closing_that_blocks_delays_nobody) {
  connect();
  fabric.hold_closing(true);
  near.reset();
  far.reset();
  thread.reset();
  EXPECT_EQ(fabric.open_endpoints, 2);
  fabric.hold_closing(false);
  EXPECT_TRUE(comes_true([&] { return fabric.open_endpoints == 0; }));
}

TEST_F(OfiChannels, a_closing_that_is_busy_is_tried_again) {
  connect();
  fabric.busy_closes = 5;
  near.reset();
  EXPECT_TRUE(comes_true([&] { return fabric.open_endpoints == 1; }));
}

TEST_F(OfiChannels, an_endpoint_that_cannot_be_opened_says_why) {
  for (const char* call :
       {"fi_domain", "fi_av_open", "fi_cq_open", "fi_endpoint", "fi_ep_bind", "fi_enable", "fi_getname"}) {
    fabric.refused_call = call;
    const auto opened = thread->open(kLong);
    EXPECT_EQ(opened.status().code(), Code::system);
    EXPECT_EQ(opened.status().message(), std::string("provider fake: ") + call + ": Input/output error (error 5)");
    EXPECT_EQ(fabric.open_endpoints, 0);
  }
  fabric.refused_call.clear();
  near = channel(Role::dialler, 1);
}

TEST_F(OfiChannels, a_slow_endpoint_serves_the_next_attempt) {
  fabric.hold_opening(true);
  const auto opened = thread->open(std::chrono::milliseconds(1));
  EXPECT_EQ(opened.status().code(), Code::exhausted);
  EXPECT_EQ(opened.status().message(), "provider fake did not open an endpoint within 1 ms; the next attempt uses it");
  fabric.hold_opening(false);
  EXPECT_TRUE(comes_true([&] { return fabric.open_endpoints == 1; }));
  near = channel(Role::dialler, 1);
  EXPECT_EQ(near->address()[10], std::byte{0}) << "the first byte of the name: another endpoint was opened";
}

TEST_F(OfiChannels, after_a_slow_endpoint_the_next_is_opened_ahead) {
  start(Nanos(0));
  near = channel(Role::dialler, 1);
  EXPECT_TRUE(comes_true([&] { return fabric.open_endpoints == 2; }));
  fabric.hold_opening(true);
  far = channel(Role::acceptor, 2);
  fabric.hold_opening(false);
}

// Runs in a process of its own, which exits while a closing blocks.
TEST_F(OfiChannels, a_closing_that_blocks_does_not_hold_up_the_exit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        connect();
        fabric.hold_closing(true);
        near.reset();
        far.reset();
        std::exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST_F(OfiChannels, a_forked_child_leaves_the_parents_endpoints) {
  connect();
  const pid_t child = ::fork();
  if (child == 0) {
    near.reset();
    const bool refused = thread->open(kLong).status().code() == Code::internal;
    thread.reset();
    ::_exit(refused && fabric.open_endpoints == 2 ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(send(*near, 'a'));
  EXPECT_EQ(poll(*far), "a");
}

}  // namespace
}  // namespace railweave::wire::ofi
#endif
