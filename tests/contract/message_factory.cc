#include <sys/socket.h>

#include "tests/contract/lane_contract.h"
#include "tests/unit/wire/fake_channel.h"
#include "wire/message/pending_lane.h"

namespace railweave::wire::contract {
namespace {

// Gives its two lanes the two ends of one fake device.
class FakePort final : public Port {
 public:
  explicit FakePort(const message::FakeChannelOptions& options)
      : device_(std::make_shared<message::FakeDevice>(options)) {}

  Result<std::unique_ptr<PendingLane>> begin_lane(Role role) override {
    auto channel = std::make_unique<message::FakeChannel>(device_, role == Role::dialler ? 0 : 1);
    return std::unique_ptr<PendingLane>(
        std::make_unique<message::PendingMessageLane>(std::move(channel), "fake", "fake"));
  }
  message::FakeDevice& device() { return *device_; }

 private:
  const std::shared_ptr<message::FakeDevice> device_;
};

LanePair connect_message(const message::FakeChannelOptions& options) {
  auto port = std::make_shared<FakePort>(options);
  int sockets[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
  LanePair pair = connect_by(*port, {OwnedFd(sockets[0])}, {OwnedFd(sockets[1])}, [port] { port->device().step(); });
  pair.world = port;
  return pair;
}

std::vector<LaneFactory> message_factories() {
  message::FakeChannelOptions plain, few, slow, wild;
  few.shape = {16 * KiB, 8};
  few.send_slots = 1;
  slow.delay = 3;
  slow.shape = {64 * KiB, 64};
  wild.delay = 2;
  wild.shuffles = true;
  wild.not_now = 5;
  return {{"message", [=] { return connect_message(plain); }},
          {"message_few_slots", [=] { return connect_message(few); }},
          {"message_slow", [=] { return connect_message(slow); }},
          {"message_wild", [=] { return connect_message(wild); }}};
}

const RegisteredFactories registered_message(message_factories());

}  // namespace
}  // namespace railweave::wire::contract
