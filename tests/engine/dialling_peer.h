// A peer process that dials this process: dial_and() runs in the child of a Forked, Host is this process's side.
#pragma once

#include <functional>
#include <memory>

#include "forked.h"
#include "two_engines.h"

namespace railweave::engine_test {

// Runs in the child: receives a handle, connects to it, and returns what `then` returns; 90 to 93 if not connected.
int dial_and(Wire& wire, const Config& config, const std::function<int(Engine&, SendStream&)>& then);

// An engine to which the child connects. Construct it after the fork.
struct Host {
  explicit Host(const Config& config = loopback()) : engine(start_engine(config)) {}
  bool welcome(Forked& peer);  // sends the peer a handle; returns true when the peer has connected

  std::shared_ptr<Engine> engine;
  std::unique_ptr<Listener> listener;
  std::unique_ptr<RecvStream> recv;
};

}  // namespace railweave::engine_test
