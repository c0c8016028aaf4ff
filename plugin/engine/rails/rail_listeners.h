// The engine's listening sockets: one per rail and address family.
//
// A listener whose address its rail no longer has is retired, and stays open; each rail keeps its last four. A peer
// that missed the change dials the old address once the address is back. A refused connection would tell this peer
// that the process is dead.
//
// Threads: the reactor's, except open().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "engine/connect/hello.h"
#include "engine/runtime/accept_loop.h"
#include "engine/runtime/reactor.h"
#include "railweave/config.h"
#include "railweave/device.h"
#include "railweave/status.h"
#include "wire/bootstrap/socket.h"

namespace railweave::engine {

class RailListeners {
 public:
  // `accepted` is connected and non-blocking, and not bound to an interface yet. The peer dialled an address of local
  // rail `rail`.
  using OnConnection = std::function<void(wire::Accepted accepted, int rail)>;

  explicit RailListeners(Reactor& reactor) : reactor_(reactor) {}
  ~RailListeners();

  // Opens the listeners of all rails. Errors: exhausted when the port range is used up (the message names
  // RAILWEAVE_PORTS), system.
  Status open(const Config& config, const std::vector<Rail>& rails);
  // Rail `index` has only the addresses `all_but` now. The rail's listeners at other addresses are free for other
  // rails. Reactor's thread, as is put() after serve().
  void release(int index, const std::vector<Address>& all_but);
  // Rail `index` is new (the next index), or has other addresses. An address keeps this rail's listener, or takes one
  // that another rail gave up, or gets a new one. Errors: as open(); then nothing has changed.
  Status put(int index, const Rail& rail);
  // True if rails() has just the addresses of `rail`: the first of each family.
  bool announces(int index, const Rail& rail) const;
  // Sets the rail's link state in rails(), as the kernel reports the link. put() sets the link to up.
  void set_link(int index, bool up) { rails_[std::size_t(index)].link_down = !up; }
  // Removes from rails() the addresses that moved to another rail, and returns the rails that lost one. Peers would see
  // one address on two rails otherwise. Call after release() and put() of all rails.
  std::vector<int> take_reassigned();
  // Starts accepting. Reactor's thread.
  void serve(OnConnection on_connection);
  // Closes all listeners; peers cannot connect any more. rails() stays. Idempotent. Reactor's thread.
  void close();

  // The rails with their listeners' ports, as announced to peers.
  const std::vector<PeerRail>& rails() const { return rails_; }

 private:
  static constexpr int kRetiredMax = 4;  // retired listeners of each rail

  struct Listening {
    Listening(Reactor& reactor, bool& logged_failure) : accept_loop(reactor, logged_failure) {}
    int rail = 0;
    Address address;
    std::uint16_t port = 0;
    bool released = false;  // the rail gave the address up: another rail may take the listener
    OwnedFd fd;
    AcceptLoop accept_loop;  // of fd
  };

  Result<std::unique_ptr<Listening>> make_listening(int index, const Rail& rail, const Address& address);
  Listening* find(int rail, const Address& address);
  bool is_retired(const Listening& listener) const;
  bool is_reassigned(int index, const Address& address) const;
  void close_oldest_retired(int rail);
  // `rail_name`: for the log; rails() may not have the rail yet.
  void serve(Listening& listener, const std::string& rail_name);
  Result<bool> accept_one(const Listening& listener);
  void close(Listening& listener);

  Reactor& reactor_;
  wire::SocketOptions options_;
  PortRange ports_;
  OnConnection on_connection_;
  bool logged_failure_ = false;                        // common to all accept loops (AcceptLoop), which refer to it
  std::vector<std::unique_ptr<Listening>> listeners_;  // in the order of their last put()
  std::vector<PeerRail> rails_;                        // by rail
};

}  // namespace railweave::engine
