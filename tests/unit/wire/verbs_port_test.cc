// Ports of the verbs wire: what they need of the host, and what is said where something is missing.
#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/port.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "tests/unit/wire/fake_verbs.h"
#include "wire/message/offer.h"
#include "wire/verbs/channel_address.h"
#include "wire/verbs/devices.h"
#include "wire/verbs/queue_pair.h"

namespace railweave::wire::verbs {
namespace {

class VerbsPorts : public testing::Test {
 protected:
  void open() {
    auto opened = open_port(host, rail, Config{});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    port = std::move(*opened);
  }
  // Opens a port, which fails because of the host.
  std::string open_error() {
    const auto opened = open_port(host, rail, Config{});
    EXPECT_EQ(opened.status().code(), Code::invalid_config);
    return opened.status().message();
  }
  // Asks again where the machine was too busy to answer in time.
  Result<std::unique_ptr<PendingLane>> try_lane() {
    auto begun = port->begin_lane(Port::Role::dialler);
    while (!begun.ok() && begun.status().message().find("within 200 ms") != std::string::npos)
      begun = port->begin_lane(Port::Role::dialler);
    return begun;
  }
  std::unique_ptr<PendingLane> begin() {
    auto begun = try_lane();
    EXPECT_TRUE(begun.ok()) << begun.status().message();
    return begun.ok() ? std::move(*begun) : nullptr;
  }
  // From "device fake0 did not look for a GID within 999 ms"; 0: another message.
  static int ms_waited(const std::string& message) {
    const std::size_t at = message.find("within ");
    return at == message.npos ? 0 : std::atoi(message.c_str() + at + 7);
  }
  Status begin_error() { return try_lane().status(); }
  // Waits until the device's thread has run all commands so far.
  void wait_for_thread() {
    ASSERT_TRUE(find_device(host, {rail.name, rail.ifindex, rail.addresses}, std::chrono::seconds(20)).ok());
  }
  bool none_pinned() {
    return fake->wait_until([](const auto&) { return pinned_memory().pinned_bytes() == 0; });
  }

  const std::unique_ptr<FakeVerbs> fake = std::make_unique<FakeVerbs>();
  VerbsHost host = fake->host();
  Rail rail;
  std::unique_ptr<Port> port;
};

TEST_F(VerbsPorts, a_host_without_device_is_named) {
  EXPECT_EQ(open_error(), "this host has no RDMA device (/nowhere is empty)");
  host.sysfs = "/proc/self/ns";  // a folder that has something
  EXPECT_NE(open_error().find("libibverbs lists none"), std::string::npos);
  EXPECT_NE(open_error().find("install the package ibverbs-providers, and pass /dev/infiniband"), std::string::npos);
}

TEST_F(VerbsPorts, a_device_without_permission_is_named) {
  rail = fake->add_rail("fake0", "v0", 1);
  fake->set_faults({.open_device = EACCES});
  EXPECT_EQ(
      open_error(),
      "no RDMA device serves rail v0: device fake0: cannot open /dev/infiniband/uverbs0: Permission denied (errno "
      "13); give this user read and write permission on the file");
  fake->set_faults({.open_device = ENOENT});
  EXPECT_NE(open_error().find("pass /dev/infiniband to the container"), std::string::npos);
}

TEST_F(VerbsPorts, a_rail_without_gid_is_told_what_there_is) {
  rail = fake->add_rail("fake0", "v0", 1);
  rail.addresses[0].bytes[3] = 77;
  EXPECT_EQ(open_error(),
            "no RDMA device serves rail v0: no GID for 10.0.0.77 on v0 (interface 1); fake0 has: port 1 index 1 "
            "10.0.0.1 RoCE v2 interface 1");
  EXPECT_TRUE(fake->wait_until([](const auto& counts) { return counts.contexts == 0; })) << "the device stays open";
}

TEST_F(VerbsPorts, a_port_that_is_down_or_no_ethernet_is_named) {
  rail = fake->add_rail("fake0", "v0", 1);
  fake->set_port("fake0", IBV_PORT_DOWN);
  EXPECT_NE(open_error().find("device fake0 port 1 is down, expected active"), std::string::npos);
  fake->set_port("fake0", IBV_PORT_ACTIVE, IBV_MTU_4096, IBV_LINK_LAYER_INFINIBAND);
  EXPECT_NE(open_error().find("device fake0 port 1 is not Ethernet"), std::string::npos);
}

TEST_F(VerbsPorts, a_limit_too_small_for_a_lane_is_named) {
  rail = fake->add_rail("fake0", "v0", 1);
  host.memlock_bytes = 2 * kLaneBytes - 1;
  const std::string error = open_error();
  EXPECT_NE(error.find("RLIMIT_MEMLOCK is 4194303 bytes: raise it (ulimit -l unlimited"), std::string::npos) << error;
  EXPECT_NE(error.find("takes 2097152"), std::string::npos) << error;
  host.memlock_bytes = 2 * kLaneBytes;
  open();
}

TEST_F(VerbsPorts, the_rails_device_is_found_among_others) {
  fake->add_rail("fake0", "v0", 1);
  rail = fake->add_rail("fake1", "v1", 2);
  open();
  EXPECT_TRUE(fake->wait_until([](const auto& counts) { return counts.opened == 2 && counts.contexts == 1; }));
  const auto offer = message::decode_offer(begin()->offer()->bytes);
  EXPECT_EQ(decode_address(offer.value().address).value().gid, gid_of(rail.addresses[0]));
}

TEST_F(VerbsPorts, rails_of_one_device_share_it) {
  rail = fake->add_rail("fake0", "v0", 1);
  Rail other = rail;
  other.name = "v1";
  other.ifindex = 2;
  fake->add_gid("fake0", {gid_of(other.addresses[0]), 1, 4, true, 2});
  open();
  const auto second = open_port(host, other, Config{});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(fake->counts().opened, 1);
}

TEST_F(VerbsPorts, one_queue_pair_is_made_in_advance) {
  rail = fake->add_rail("fake0", "v0", 1);
  open();
  EXPECT_EQ(fake->counts().made, 0) << "only a port that is used pins memory";
  const auto first = begin();
  wait_for_thread();
  EXPECT_EQ(fake->counts().made, 2);
  const auto second = begin();
  wait_for_thread();
  EXPECT_EQ(fake->counts().made, 3);
  EXPECT_NE(first->offer()->bytes, second->offer()->bytes);
}

TEST_F(VerbsPorts, a_port_waits_longer_for_a_busy_device_than_a_lane) {
  rail = fake->add_rail("fake0", "v0", 1);
  open();
  auto lane = begin();
  wait_for_thread();
  fake->hold("destroy_qp");
  lane.reset();
  ASSERT_TRUE(fake->wait_until([](const auto& counts) { return counts.waiting == 1; }));
  const auto reopened = open_port(host, rail, Config{});
  ASSERT_FALSE(reopened.ok());
  EXPECT_GT(ms_waited(reopened.status().message()), 900);
}

TEST_F(VerbsPorts, half_of_the_limit_is_used_and_given_back) {
  ASSERT_TRUE(none_pinned());
  rail = fake->add_rail("fake0", "v0", 1);
  host.memlock_bytes = 4 * kLaneBytes;
  open();
  auto first = begin();
  const auto second = begin();
  wait_for_thread();
  EXPECT_EQ(fake->counts().made, 2) << "none is made in advance where memory is short";
  const Status third = begin_error();
  EXPECT_EQ(third.code(), Code::exhausted);
  EXPECT_EQ(
      third.message(),
      "RDMA lanes of this process pin 4194304 bytes and the next one takes 2097152, but at most half of the limit "
      "is used; RLIMIT_MEMLOCK is 8388608 bytes: raise it (ulimit -l unlimited; systemd: LimitMEMLOCK=infinity; "
      "docker: --ulimit memlock=-1)");
  first.reset();
  wait_for_thread();
  EXPECT_NE(begin(), nullptr);
}

TEST_F(VerbsPorts, memory_that_the_kernel_refuses_names_the_limit) {
  rail = fake->add_rail("fake0", "v0", 1);
  open();
  for (const FakeVerbs::Faults& faults :
       {FakeVerbs::Faults{.reg_mr = ENOMEM}, FakeVerbs::Faults{.create_qp = ENOMEM}}) {
    fake->set_faults(faults);
    const Status refused = begin_error();
    EXPECT_EQ(refused.code(), Code::exhausted);
    EXPECT_NE(refused.message().find("RLIMIT_MEMLOCK does not bind this process"), std::string::npos)
        << refused.message();
  }
  fake->set_faults({.create_qp = EINVAL});
  EXPECT_EQ(begin_error().message(), "device fake0: ibv_create_qp: Invalid argument (errno 22)");
  fake->set_faults({});
  EXPECT_NE(begin(), nullptr);
}

TEST_F(VerbsPorts, each_lane_looks_for_the_gid_anew) {
  rail = fake->add_rail("fake0", "v0", 1);
  open();
  const Gid gid = gid_of(rail.addresses[0]);
  fake->remove_gid("fake0", gid);
  const Status lost = begin_error();
  EXPECT_EQ(lost.code(), Code::system);
  EXPECT_NE(lost.message().find("no GID for 10.0.0.1 on v0"), std::string::npos) << lost.message();
  fake->add_gid("fake0", {gid, 1, 6, true, 1});
  EXPECT_NE(begin(), nullptr);
}

TEST_F(VerbsPorts, a_device_that_was_removed_and_added_serves_again) {
  rail = fake->add_rail("fake0", "v0", 1);
  open();
  auto lane = begin();
  fake->remove_device("fake0");
  lane.reset();
  EXPECT_TRUE(fake->wait_until([](const auto& counts) { return counts.contexts == 0; }))
      << "the kernel waits until the device is closed, also while a port is open";
  EXPECT_EQ(begin_error().code(), Code::system);
  fake->add_rail("fake0", "v0", 1);
  EXPECT_NE(begin(), nullptr);
}

}  // namespace
}  // namespace railweave::wire::verbs
#endif
