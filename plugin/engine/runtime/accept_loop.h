// Accepts the connections of one listening socket, on the reactor. While accepting fails, for want of descriptors or
// memory, connections stay in the socket's backlog, and the loop tries again every 100 ms.
// Threads: the reactor's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/runtime/reactor.h"
#include "railweave/status.h"

namespace railweave::engine {

class AcceptLoop final : private Pollable {
 public:
  // Accepts one connection and hands it on. False: no connection waits, or the caller wants other events served first.
  // Errors: accepting failed.
  using AcceptOne = std::function<Result<bool>()>;

  // `logged`: a failure was logged at WARN, and no call has succeeded since. Loops that share it log one line together.
  // Both arguments outlive the loop.
  AcceptLoop(Reactor& reactor, bool& logged) : reactor_(reactor), logged_(logged) {}
  ~AcceptLoop() { close(); }
  AcceptLoop(const AcceptLoop&) = delete;
  AcceptLoop& operator=(const AcceptLoop&) = delete;

  // Calls `accept_one` whenever `listener` is readable. `listener` stays the caller's, open until close(). `failure`
  // begins the log line about a failure: "cannot accept connections". Repeating the call with the same listener changes
  // nothing. Errors: as Reactor::add(); nothing is accepted then.
  Status open(int listener, std::string failure, AcceptOne accept_one);
  // Accepts nothing from now on. Idempotent.
  void close();

 private:
  void on_ready(std::uint32_t) override;
  void arm();

  Reactor& reactor_;
  bool& logged_;
  int listener_ = -1;  // -1: not open
  std::string failure_;
  AcceptOne accept_one_;
  Reactor::TimerId timer_ = 0;  // of the next try after a failure; 0: none is due
};

}  // namespace railweave::engine
