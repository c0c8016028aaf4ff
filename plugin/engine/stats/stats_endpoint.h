// Answers `railweave-info --pid`: the statistics socket, on the reactor's thread.
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

  // An empty `dir` means none is wanted. A failure is logged and otherwise harmless.
  void open(const std::string& dir, const std::string& instance_hex, Ask ask);
  void close();

 private:
  void on_ready(std::uint32_t) override;

  Reactor& reactor_;
  Ask ask_;
  std::unique_ptr<StatsServer> server_;
  Reactor::TimerId timer_ = 0;  // set while descriptors are exhausted
};

}  // namespace railweave::engine
