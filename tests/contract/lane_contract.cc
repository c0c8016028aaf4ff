#include "tests/contract/lane_contract.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace railweave::wire::contract {

namespace {

std::vector<LaneFactory>& registry() {
  static std::vector<LaneFactory> factories;  // constructed when the first file registers
  return factories;
}

// Polls once. True: there is a lane, or a failure.
bool is_established(PendingLane& pending, std::unique_ptr<Lane>& lane) {
  if (lane) return true;
  Result<std::unique_ptr<Lane>> polled = pending.poll();
  EXPECT_TRUE(polled.ok()) << polled.status().message();
  if (polled.ok()) lane = std::move(*polled);
  return lane || !polled.ok();
}

Offer offered(PendingLane& pending) {
  Result<Offer> offer = pending.offer();
  EXPECT_TRUE(offer.ok()) << offer.status().message();
  EXPECT_LE(offer->bytes.size(), kOfferBytesMax);
  return offer.ok() ? std::move(*offer) : Offer{};
}

}  // namespace

RegisteredFactories::RegisteredFactories(std::vector<LaneFactory> factories) {
  for (LaneFactory& factory : factories) registry().push_back(std::move(factory));
}

std::vector<LaneFactory> all_factories() {
  std::vector<LaneFactory> all = registry();
  std::ranges::sort(all, {}, &LaneFactory::name);
  return all;
}

LanePair connect_by(Port& port, Bootstrap dialled, Bootstrap accepted, std::function<void()> pass_time) {
  LanePair pair;
  auto dialler = port.begin_lane(Port::Role::dialler), acceptor = port.begin_lane(Port::Role::acceptor);
  EXPECT_TRUE(dialler.ok() && acceptor.ok());
  const Status heard = (*acceptor)->complete(offered(**dialler));
  EXPECT_TRUE(heard.ok()) << heard.message();
  const Status answered = (*dialler)->complete(offered(**acceptor));
  EXPECT_TRUE(answered.ok()) << answered.message();
  (*dialler)->start(std::move(dialled));
  (*acceptor)->start(std::move(accepted));
  for (int polls = 0; polls < 1000; ++polls) {
    const bool near = is_established(**dialler, pair.near), far = is_established(**acceptor, pair.far);
    if (near && far) break;
    pass_time();
  }
  EXPECT_TRUE(pair.near && pair.far) << "a lane that is never established";
  pair.pass_time = std::move(pass_time);
  return pair;
}

LanePair connect_over_unix_socket(const Wire& wire) {
  int sockets[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
  auto port = wire.open(nullptr, Config{});
  EXPECT_TRUE(port.ok()) << port.status().message();
  return connect_by(**port, {OwnedFd(sockets[0])}, {OwnedFd(sockets[1])}, [] { ::usleep(10); });
}

bool LaneContract::turn(std::size_t budget_bytes) {
  std::size_t moved = 0;
  if (pair.near) moved += near.write();
  if (pair.far) moved += far.write() + far.read(budget_bytes);
  if (pair.near) moved += near.read(budget_bytes);
  if (moved == 0) pair.pass_time();
  return moved > 0;
}

void LaneContract::turn_until(const std::function<bool()>& done, std::size_t budget_bytes) {
  constexpr int kIdleTurnsMost = 20'000;
  for (int idle = 0; idle < kIdleTurnsMost && !done() && !HasFatalFailure();) idle = turn(budget_bytes) ? 0 : idle + 1;
  EXPECT_TRUE(done()) << "stuck: near " << near.describe() << "; far " << far.describe();
}

void LaneContract::write_until_stuck(Recorder& who) {
  for (int still = 0; still < 20;) {
    still = who.write() > 0 ? 0 : still + 1;
    if (still > 0) pair.pass_time();
  }
}

}  // namespace railweave::wire::contract
