#include "engine/doors.h"

#include <sys/epoll.h>

#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "engine/fork_guard.h"
#include "wire/tcp/socket.h"

namespace railweave::engine {
namespace {

constexpr Nanos kRetryExhausted = std::chrono::milliseconds(100);
constexpr int kAcceptsPerTurn = 64;

}  // namespace

Doors::~Doors() { close(); }

Status Doors::open(const Config& config, const std::vector<Rail>& rails) {
  const wire::SocketOptions options{config.congestion_control, config.traffic_class, config.peer_timeout};
  for (int i = 0; i < int(rails.size()); ++i) {
    PeerRail peer_rail{rails[i].name, std::uint32_t(rails[i].speed.megabits()), {}};
    bool have_v4 = false, have_v6 = false;
    for (const Address& address : rails[i].addresses) {
      bool& have = address.family == Address::Family::v4 ? have_v4 : have_v6;
      if (std::exchange(have, true)) continue;
      RW_ASSIGN_OR_RETURN(wire::Listening listening, wire::listen_at(address, config.ports, options));
      guard_descriptor(listening.fd.get());
      peer_rail.addresses.push_back({address, listening.address.port()});
      auto door = std::make_unique<Door>();
      door->doors = this;
      door->rail = i;
      door->fd = std::move(listening.fd);
      doors_.push_back(std::move(door));
    }
    rails_.push_back(std::move(peer_rail));
  }
  return {};
}

void Doors::serve(OnConnection on_connection) {
  on_connection_ = std::move(on_connection);
  for (auto& door : doors_)
    if (Status s = reactor_.add(door->fd.get(), *door, EPOLLIN); !s.ok()) RW_WARN(net, "{}", s.message());
}

void Doors::close() {
  for (auto& door : doors_) {
    if (door->timer) reactor_.cancel(door->timer);
    reactor_.remove(door->fd.get(), *door);
    release_descriptor(door->fd.get());
  }
  doors_.clear();
}

void Doors::accept_all(Door& door) {
  ScopeExit rearm([&] { reactor_.arm(door.fd.get(), door, EPOLLIN); });  // also when a connection finds no memory
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    Result<wire::Accepted> accepted = wire::accept_from(door.fd.get());
    if (!accepted.ok()) {
      // Out of descriptors: the connection stays in the backlog; spinning on it would help nobody.
      if (!std::exchange(warned_exhausted_, true)) RW_WARN(net, "cannot accept connections: {}", accepted.status().message());
      door.timer = reactor_.at(now() + kRetryExhausted, [this, &door] {
        door.timer = 0;
        reactor_.arm(door.fd.get(), door, EPOLLIN);
      });
      return rearm.dismiss();
    }
    if (!accepted->fd) break;
    warned_exhausted_ = false;
    // With several rails in one subnet the kernel's routes would send all answers out by one of them.
    wire::bind_to_interface(accepted->fd.get(), rails_[door.rail].name, accepted->remote);
    on_connection_(std::move(accepted->fd), door.rail);
  }
}

}  // namespace railweave::engine
