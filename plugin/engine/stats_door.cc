#include "engine/stats_door.h"

#include <sys/epoll.h>

#include <utility>

#include "base/log.h"
#include "engine/fork_guard.h"

namespace railweave::engine {

void StatsDoor::open(const std::string& dir, const std::string& instance_hex, Ask ask) {
  if (dir.empty()) return;
  Result<std::unique_ptr<StatsServer>> server = StatsServer::open(dir, instance_hex);
  if (!server.ok()) {
    RW_INFO(net, "no statistics for railweave-info: {}", server.status().message());
    return;
  }
  server_ = std::move(*server);
  ask_ = std::move(ask);
  guard_descriptor(server_->descriptor());
  (void)reactor_.add(server_->descriptor(), *this, EPOLLIN);
}

void StatsDoor::close() {
  if (!server_) return;
  reactor_.remove(server_->descriptor(), *this);
  release_descriptor(server_->descriptor());
  server_.reset();
}

void StatsDoor::on_ready(std::uint32_t) {
  server_->serve(ask_());
  reactor_.arm(server_->descriptor(), *this, EPOLLIN);
}

}  // namespace railweave::engine
