#include "wire/tcp/wire.h"

#include <cassert>
#include <string>
#include <utility>

#include "wire/tcp/lane.h"

namespace railweave::wire {
namespace {

class PendingTcpLane final : public PendingLane {
 public:
  PendingTcpLane(std::string rail, const TcpLaneOptions& options) : rail_(std::move(rail)), options_(options) {}

  Result<Offer> offer() override { return Offer{}; }
  Status complete(Offer) override { return {}; }
  void start(Bootstrap bootstrap) override { bootstrap_ = std::move(bootstrap); }
  Result<std::unique_ptr<Lane>> poll() override {
    assert(bootstrap_.fd);
    return std::unique_ptr<Lane>(
        std::make_unique<TcpLane>(std::move(bootstrap_.fd), rail_, options_, std::move(bootstrap_.tls)));
  }

 private:
  const std::string rail_;
  const TcpLaneOptions options_;
  Bootstrap bootstrap_;
};

class TcpPort final : public Port {
 public:
  TcpPort(const Rail& rail, const Config& config)
      : rail_(rail.name), options_{config.zerocopy_threshold_bytes, rail.speed_known ? rail.speed : Rate{}} {}

  Result<std::unique_ptr<PendingLane>> begin_lane(Role) override {
    return std::unique_ptr<PendingLane>(std::make_unique<PendingTcpLane>(rail_, options_));
  }

 private:
  const std::string rail_;
  const TcpLaneOptions options_;
};

class TcpWire final : public Wire {
 public:
  std::string_view name() const override { return "tcp"; }
  Reach reach() const override { return Reach::between_hosts; }
  bool is_plain() const override { return true; }
  bool can_encrypt() const override { return true; }
  Result<std::unique_ptr<Port>> open(const Rail* rail, const Config& config) const override {
    assert(rail);
    return std::unique_ptr<Port>(std::make_unique<TcpPort>(*rail, config));
  }
};

}  // namespace

const Wire& tcp_wire() {
  static const TcpWire wire;
  return wire;
}

}  // namespace railweave::wire
