#include "engine/stats/stats_endpoint.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "engine/runtime/fork_guard.h"

namespace railweave::engine {

void StatsEndpoint::open(const std::string& dir, const std::string& instance_hex, Ask ask) {
  if (dir.empty()) return;
  Result<std::unique_ptr<StatsServer>> server = StatsServer::open(dir, instance_hex);
  if (!server.ok()) {
    RW_WARN(net,
            "RAILWEAVE_STATS_DIR: no statistics for railweave info in '{}': {} (is it a directory in which this "
            "process may make sockets?)",
            dir, server.status().message());
    return;
  }
  server_ = std::move(*server);
  ask_ = std::move(ask);
  guard_descriptor(server_->descriptor());
  // One answer a turn: an answer takes longer than an accept.
  const auto serve_one = [this]() -> Result<bool> {
    RW_TRY(server_->serve(ask_));
    return false;
  };
  if (Status s = accept_loop_.open(server_->descriptor(), fmt::format("{}: accepts no connection", server_->path()),
                                   serve_one);
      !s.ok()) {
    RW_WARN(net, "RAILWEAVE_STATS_DIR: no statistics for railweave info: {}", s.message());
    close();
  }
}

void StatsEndpoint::close() {
  if (!server_) return;
  accept_loop_.close();
  release_descriptor(server_->descriptor());
  server_.reset();
}

}  // namespace railweave::engine
