// A peer process that dials this one: what it does (in the child of a Forked), and this side of it.
#pragma once

#include <functional>
#include <memory>

#include "forked.h"
#include "two_engines.h"

namespace railweave::engine_test {

// The child's: connects to the handle it hears, then does what `then` says and returns that; 90 to 93: not connected.
int dial_and(Wire& wire, const Config& config, const std::function<int(Engine&, SendStream&)>& then);

// Make it after the fork.
struct Host {
  explicit Host(const Config& config = loopback()) : engine(start_engine(config)) {}
  bool welcome(Forked& peer);  // until it has connected

  std::shared_ptr<Engine> engine;
  std::unique_ptr<Listener> listener;
  std::unique_ptr<RecvStream> recv;
};

}  // namespace railweave::engine_test
