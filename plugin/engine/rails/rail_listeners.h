// The engine's listening sockets: one per rail and address family. One whose address its rail has no more stays open,
// the last four of a rail: who was not told dials there when the address is back, and a refusal would say that this
// process is dead. On the reactor's thread, except open().
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "engine/connect/hello.h"
#include "engine/runtime/reactor.h"
#include "railweave/config.h"
#include "railweave/device.h"
#include "railweave/status.h"
#include "wire/bootstrap/socket.h"

namespace railweave::engine {

class RailListeners {
 public:
  // `accepted` is connected and non-blocking, not bound to an interface yet; its peer dialled an address of local rail
  // `rail`.
  using OnConnection = std::function<void(wire::Accepted accepted, int rail)>;

  explicit RailListeners(Reactor& reactor) : reactor_(reactor) {}
  ~RailListeners();

  // Errors: exhausted when the port range is used up (the message names it), system.
  Status open(const Config& config, const std::vector<Rail>& rails);
  // Rail `index` has no addresses but `all_but`: the listeners of its others are free for other rails. Reactor's
  // thread, as is put() after serve().
  void release(int index, const std::vector<Address>& all_but);
  // Rail `index` is new (the next one), or has other addresses: those that nobody had before, or still has, get a
  // listener. Errors: as open(); then all is as before.
  Status put(int index, const Rail& rail);
  bool announces(int index, const Rail& rail) const;
  // The kernel says so of the rail's link. A rail that is put has one.
  void announce_link(int index, bool up) { rails_[std::size_t(index)].link_down = !up; }
  // Rails that told of an address which another rail tells of now and they have no more: they tell it no more, for
  // peers would take it for two rails. After all have been released and put.
  std::vector<int> take_reassigned();
  // Starts accepting. Reactor's thread.
  void serve(OnConnection on_connection);
  // Stops accepting; nobody connects any more. Reactor's thread.
  void close();

  // The rails with the ports they listen on, as peers are told.
  const std::vector<PeerRail>& rails() const { return rails_; }

 private:
  static constexpr int kRetiredMax = 4;  // of each rail

  struct Listening final : Pollable {
    RailListeners* owner = nullptr;
    int rail = 0;
    Address address;
    std::uint16_t port = 0;
    bool released = false;
    OwnedFd fd;
    Reactor::TimerId timer = 0;  // set while descriptors are exhausted
    void on_ready(std::uint32_t) override { owner->accept_all(*this); }
  };

  Result<std::unique_ptr<Listening>> make_listening(int index, const Rail& rail, const Address& address);
  Listening* find(int rail, const Address& address);
  bool is_retired(const Listening& listener) const;
  bool is_reassigned(int index, const Address& address) const;
  void close_oldest_retired(int rail);
  void serve(Listening& listener);
  void close(Listening& listener);
  void accept_all(Listening& listener);

  Reactor& reactor_;
  wire::SocketOptions options_;
  PortRange ports_;
  OnConnection on_connection_;
  std::vector<std::unique_ptr<Listening>> listeners_;  // who was told of last is last
  std::vector<PeerRail> rails_;
  bool warned_exhausted_ = false;
};

}  // namespace railweave::engine
