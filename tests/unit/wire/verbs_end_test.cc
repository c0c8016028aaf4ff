// Ends of verbs lanes: a device that takes long to end a queue pair, a device that goes, exits and forks.
#if __has_include(<infiniband/verbs.h>)
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/wire/counting_handler.h"
#include "tests/unit/wire/verbs_pair.h"
#include "wire/message/lane.h"

namespace railweave::wire::verbs {
namespace {

// Two lanes, whose channels are connected.
class VerbsEnds : public VerbsPair {
 protected:
  void connect_lanes() {
    connect();
    int sockets[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
    const message::ChannelShape shape = near->shape();
    near_lane = std::make_unique<message::MessageLane>(std::move(near), message::PeerSocket(OwnedFd(sockets[0])),
                                                       "verbs", "v0", shape);
    far_lane = std::make_unique<message::MessageLane>(std::move(far), message::PeerSocket(OwnedFd(sockets[1])), "verbs",
                                                      "v1", shape);
    for (bool near_proven = false, far_proven = false; !near_proven || !far_proven;) {
      if (!near_proven) near_proven = *near_lane->is_proven();
      if (!far_proven) far_proven = *far_lane->is_proven();
    }
  }
  void exchange() {
    from_near.to_send = {100'000};
    for (std::size_t before = from_far.arrived; from_far.arrived == before;) {
      ASSERT_TRUE(near_lane->write(from_near).ok());
      ASSERT_TRUE(far_lane->read(from_far, 1 << 20).ok());
      ASSERT_TRUE(near_lane->read(from_near, 1 << 20).ok());
    }
  }

  std::unique_ptr<message::MessageLane> near_lane, far_lane;
  CountingHandler from_near, from_far;
};

TEST_F(VerbsEnds, a_destroy_that_blocks_delays_nobody) {
  connect_lanes();
  exchange();
  from_near.to_send = {1 << 20};
  ASSERT_TRUE(near_lane->write(from_near).ok());
  fake->hold("destroy_qp");
  const std::vector<std::byte> memory(100);
  EXPECT_TRUE(near_lane->withdraw_payload(memory));
  near_lane->withdraw_target(memory);
  EXPECT_TRUE(near_lane->end());
  near_lane.reset();
  ASSERT_TRUE(fake->wait_until([](const auto& counts) { return counts.waiting == 1; })) << "the device does not block";
  EXPECT_TRUE(far_lane->withdraw_payload(memory));
  far_lane.reset();  // its queue pair waits behind the other
  EXPECT_EQ(fake->counts().waiting, 1);
  EXPECT_GE(fake->counts().regions, 2) << "the slots stay until the device has let go";
  fake->release();
  EXPECT_TRUE(fake->wait_until([](const auto& counts) { return counts.contexts == 0 && counts.regions == 0; }));
}

TEST_F(VerbsEnds, a_busy_device_refuses_new_lanes_in_bounded_time) {
  auto device = find_device(fake->host(), near_rail);
  ASSERT_TRUE(device.ok());
  near = begin(near_rail);
  ASSERT_TRUE((*device)->check(near_rail).ok());  // one more queue pair was made in advance
  ASSERT_EQ(fake->counts().made, 2);
  fake->hold("destroy_qp");
  near.reset();
  ASSERT_TRUE(fake->wait_until([](const auto& counts) { return counts.waiting == 1; }));
  for (int i = 0; i < 3; ++i) {
    const auto refused = (*device)->make_queue_pair(near_rail);
    EXPECT_EQ(refused.status().code(), Code::exhausted);
    EXPECT_EQ(refused.status().message().find("device fake0 did not make a queue pair within 200 ms"), 0u)
        << refused.status().message();
  }
  fake->release();
  while (!(*device)->check(near_rail).ok()) std::this_thread::yield();  // until the device is through
  EXPECT_EQ(fake->counts().made, 2) << "the second and third try asked a device that is known to be busy";
}

TEST_F(VerbsEnds, a_queue_pair_that_comes_too_late_is_destroyed) {
  auto device = find_device(fake->host(), near_rail);
  ASSERT_TRUE(device.ok());
  fake->hold("create_qp");
  EXPECT_EQ((*device)->make_queue_pair(near_rail).status().code(), Code::exhausted);
  fake->release();
  EXPECT_TRUE(fake->wait_until([](const auto& counts) { return counts.made == 1 && counts.pairs == 0; }));
}

TEST_F(VerbsEnds, a_device_that_goes_ends_all_its_lanes) {
  connect_lanes();
  exchange();
  fake->remove_device("fake0");
  std::string error;
  while (error.empty())
    if (const auto moved = near_lane->read(from_near, 1000); !moved.ok()) error = moved.status().message();
  EXPECT_NE(error.find("device fake0: queue pair"), std::string::npos) << error;
  EXPECT_NE(error.find("failed by an event: device fatal"), std::string::npos) << error;
  EXPECT_EQ(near_lane->why_ended(), LaneEnd::system);
  near_lane.reset();
  far_lane.reset();
  EXPECT_TRUE(fake->wait_until([](const auto& counts) { return counts.contexts == 0; }));
}

TEST_F(VerbsEnds, a_device_that_leaves_sysfs_without_an_event_is_gone) {
  std::string folder = testing::TempDir() + "verbs_presence_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  fake->set_presence("fake0", folder);
  connect_lanes();
  ASSERT_EQ(::rmdir(folder.c_str()), 0);
  std::string error;
  while (error.empty())
    if (const auto moved = near_lane->read(from_near, 1000); !moved.ok()) error = moved.status().message();
  EXPECT_NE(error.find("device fatal"), std::string::npos) << error;
  near_lane.reset();
  far_lane.reset();
  EXPECT_TRUE(fake->wait_until([](const auto& counts) { return counts.contexts == 0; }));
}

TEST_F(VerbsEnds, a_forked_child_leaves_the_parents_objects_alone) {
  connect_lanes();
  ASSERT_TRUE(find_device(fake->host(), near_rail).ok());  // the device's thread is idle, and holds no lock
  const int alive = fake->counts().pairs;
  const pid_t child = ::fork();
  if (child == 0) {
    near_lane.reset();
    far_lane.reset();
    ::_exit(fake->counts().pairs == alive ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  exchange();
}

// Runs in a process of its own.
void exit_while_a_destroy_blocks() {
  auto& fake = *new FakeVerbs;
  const Rail rail = fake.add_rail("fake0", "v0", 1);
  auto device = find_device(fake.host(), identity_of(rail));
  auto pair = (*device)->make_queue_pair(identity_of(rail));
  fake.hold("destroy_qp");
  (*pair).reset();
  (*device).reset();
  if (fake.wait_until([](const auto& counts) { return counts.waiting == 1; })) std::exit(0);
}

TEST(VerbsExitDeathTest, does_not_wait_for_a_destroy_that_blocks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_while_a_destroy_blocks(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace railweave::wire::verbs
#endif
