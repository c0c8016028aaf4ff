// Two connected verbs channels on fake devices, for tests.
#pragma once

#if __has_include(<infiniband/verbs.h>)
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/wire/fake_verbs.h"
#include "wire/verbs/channel.h"
#include "wire/verbs/devices.h"

namespace railweave::wire::verbs {

inline RailIdentity identity_of(const Rail& rail) { return {rail.name, rail.ifindex, rail.addresses}; }

class VerbsPair : public testing::Test {
 protected:
  static constexpr Nanos kPatience = std::chrono::seconds(20);  // for a machine whose cores are all busy

  // One device with two GIDs, so that one thread serves both ends.
  VerbsPair() {
    near_rail = identity_of(fake->add_rail("fake0", "v0", 1));
    far_rail = {"v1", 2, near_rail.addresses};
    far_rail.addresses[0].bytes[3] = 2;
    fake->add_gid("fake0", {gid_of(far_rail.addresses[0]), 1, 2, true, 2});
  }

  std::unique_ptr<VerbsChannel> begin(const RailIdentity& rail, std::uint8_t traffic_class = 0) {
    auto device = find_device(fake->host(), rail, kPatience);
    EXPECT_TRUE(device.ok()) << device.status().message();
    auto pair = (*device)->make_queue_pair(rail, kPatience);
    EXPECT_TRUE(pair.ok()) << pair.status().message();
    return std::make_unique<VerbsChannel>(std::move(*pair), traffic_class);
  }
  // Waits for the device's thread. Returns the error's text; empty: connected.
  std::string connect_error(VerbsChannel& channel) {
    for (;;) {
      const auto connected = channel.is_connected();
      if (!connected.ok()) return connected.status().message();
      if (connected.value()) return {};
      std::this_thread::yield();
    }
  }
  void connect() {
    near = begin(near_rail);
    far = begin(far_rail);
    ASSERT_TRUE(near->connect(far->address()).ok());
    ASSERT_TRUE(far->connect(near->address()).ok());
    ASSERT_EQ(connect_error(*near), "");
    ASSERT_EQ(connect_error(*far), "");
  }
  std::uint32_t number_of(const VerbsChannel& channel) {
    auto address = decode_address(channel.address());
    return address->qpn;
  }

  // Polls once; fails the test on an error.
  std::vector<message::Arrival> poll(VerbsChannel& channel) {
    std::vector<message::Arrival> arrivals(32);
    const auto n = channel.poll(arrivals);
    EXPECT_TRUE(n.ok()) << n.status().message();
    arrivals.resize(n.ok() ? n.value() : 0);
    return arrivals;
  }
  Status poll_error(VerbsChannel& channel) {
    std::array<message::Arrival, 32> arrivals;
    return channel.poll(arrivals).status();
  }
  // Polls until the channel fails.
  Status failure(VerbsChannel& channel) {
    for (;;) {
      if (Status failed = poll_error(channel); !failed.ok()) return failed;
      std::this_thread::yield();
    }
  }
  bool send(VerbsChannel& channel, std::string_view text) {
    const auto slot = channel.next_slot();
    if (slot.empty()) return false;
    std::memcpy(slot.data(), text.data(), text.size());
    const auto sent = channel.send(text.size());
    EXPECT_TRUE(sent.ok()) << sent.status().message();
    return sent.ok() && sent.value();
  }
  static std::string text_of(VerbsChannel& channel, const message::Arrival& arrival) {
    const auto bytes = channel.slot(arrival.slot).first(arrival.bytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  const std::unique_ptr<FakeVerbs> fake = std::make_unique<FakeVerbs>();
  RailIdentity near_rail, far_rail;
  std::unique_ptr<VerbsChannel> near, far;
};

}  // namespace railweave::wire::verbs
#endif
