// Serves the statistics socket that `railweave-info --pid` asks. Threads: the reactor's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/runtime/reactor.h"
#include "engine/stats/stats_server.h"
#include "railweave/stats.h"

namespace railweave::engine {

class StatsEndpoint final : public Pollable {
 public:
  using Ask = std::function<EngineStats()>;

  explicit StatsEndpoint(Reactor& reactor) : reactor_(reactor) {}
  ~StatsEndpoint() { close(); }

  // Opens the socket in `dir`; an empty `dir` means no socket. A failure is logged at WARN, and the engine runs
  // without.
  void open(const std::string& dir, const std::string& instance_hex, Ask ask);
  void close();

 private:
  void on_ready(std::uint32_t) override;

  Reactor& reactor_;
  Ask ask_;
  std::unique_ptr<StatsServer> server_;
  Reactor::TimerId timer_ = 0;  // retries while descriptors are exhausted; 0: not set
};

}  // namespace railweave::engine
