// Serves the statistics socket that `railweave info --pid` asks. Threads: the reactor's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/runtime/accept_loop.h"
#include "engine/runtime/reactor.h"
#include "engine/stats/stats_server.h"
#include "railweave/stats.h"

namespace railweave::engine {

class StatsEndpoint final {
 public:
  using Ask = std::function<EngineStats()>;

  explicit StatsEndpoint(Reactor& reactor) : accept_loop_(reactor, logged_failure_) {}
  ~StatsEndpoint() { close(); }

  // Opens the socket in `dir`; an empty `dir` means no socket. A failure is logged at WARN, and the engine runs
  // without.
  void open(const std::string& dir, const std::string& instance_hex, Ask ask);
  void close();

 private:
  Ask ask_;
  std::unique_ptr<StatsServer> server_;
  bool logged_failure_ = false;  // the accept loop's
  AcceptLoop accept_loop_;
};

}  // namespace railweave::engine
