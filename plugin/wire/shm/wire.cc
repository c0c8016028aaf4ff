#include "wire/shm/wire.h"

#include <fcntl.h>

#include <cassert>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "wire/shm/lane.h"

namespace railweave::wire {
namespace {

class PendingShmLane final : public PendingLane {
 public:
  // `made`: the object that the dialler offers. Empty at the acceptor, where complete() takes the offered object.
  PendingShmLane(ShmLane::End end, shm::SharedObject made) : end_(end), object_(std::move(made)) {}

  Result<Offer> offer() override {
    if (end_ == ShmLane::End::taker) return Offer{};
    OwnedFd copy(::fcntl(object_.fd(), F_DUPFD_CLOEXEC, 0));
    if (!copy) return system_error(Scope::lane, "fcntl(F_DUPFD_CLOEXEC)");
    return Offer{{}, std::move(copy)};
  }
  Status complete(Offer offer) override {
    if (end_ == ShmLane::End::maker) return {};
    if (!offer.descriptor)
      return Status(Code::remote, Scope::lane, "no shared memory came with the handshake, expected a descriptor");
    RW_ASSIGN_OR_RETURN(object_, shm::SharedObject::adopt(std::move(offer.descriptor)));
    return {};
  }
  void start(Bootstrap bootstrap) override { socket_ = std::move(bootstrap.fd); }
  Result<std::unique_ptr<Lane>> poll() override {
    assert(socket_ && object_);
    return std::unique_ptr<Lane>(std::make_unique<ShmLane>(std::move(socket_), std::move(object_), end_));
  }

 private:
  const ShmLane::End end_;
  shm::SharedObject object_;
  OwnedFd socket_ = OwnedFd();
};

class ShmPort final : public Port {
 public:
  Result<std::unique_ptr<PendingLane>> begin_lane(Role role) override {
    shm::SharedObject object;
    if (role == Role::dialler) {
      RW_ASSIGN_OR_RETURN(object, shm::SharedObject::make());
    }
    const auto end = role == Role::dialler ? ShmLane::End::maker : ShmLane::End::taker;
    return std::unique_ptr<PendingLane>(std::make_unique<PendingShmLane>(end, std::move(object)));
  }
};

class ShmWire final : public Wire {
 public:
  std::string_view name() const override { return "shm"; }
  Reach reach() const override { return Reach::within_host; }
  bool is_plain() const override { return true; }
  Result<std::unique_ptr<Port>> open(const Rail*, const Config&) const override {
    return std::unique_ptr<Port>(std::make_unique<ShmPort>());
  }
};

}  // namespace

const Wire& shm_wire() {
  static const ShmWire wire;
  return wire;
}

}  // namespace railweave::wire
