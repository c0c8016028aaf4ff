#include "engine/stats/stats_endpoint.h"

#include <sys/epoll.h>

#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "engine/runtime/fork_guard.h"

namespace railweave::engine {
namespace {

constexpr Nanos kRetryExhausted = std::chrono::milliseconds(100);

}  // namespace

void StatsEndpoint::open(const std::string& dir, const std::string& instance_hex, Ask ask) {
  if (dir.empty()) return;
  Result<std::unique_ptr<StatsServer>> server = StatsServer::open(dir, instance_hex);
  if (!server.ok()) {
    RW_WARN(net,
            "RAILWEAVE_STATS_DIR: no statistics for railweave-info in '{}': {} (is it a directory in which this "
            "process may make sockets?)",
            dir, server.status().message());
    return;
  }
  server_ = std::move(*server);
  ask_ = std::move(ask);
  guard_descriptor(server_->descriptor());
  if (Status s = reactor_.add(server_->descriptor(), *this, EPOLLIN); !s.ok()) {
    RW_WARN(net, "RAILWEAVE_STATS_DIR: no statistics for railweave-info: {}", s.message());
    close();
  }
}

void StatsEndpoint::close() {
  if (!server_) return;
  if (timer_) reactor_.cancel(std::exchange(timer_, 0));
  reactor_.remove(server_->descriptor(), *this);
  release_descriptor(server_->descriptor());
  server_.reset();
}

void StatsEndpoint::on_ready(std::uint32_t) {
  // also if serve() throws std::bad_alloc
  ScopeExit rearm([this] { reactor_.arm(server_->descriptor(), *this, EPOLLIN); });
  if (server_->serve(ask_).ok()) return;
  timer_ = reactor_.at(now() + kRetryExhausted, [this] {
    timer_ = 0;
    reactor_.arm(server_->descriptor(), *this, EPOLLIN);
  });
  rearm.dismiss();
}

}  // namespace railweave::engine
