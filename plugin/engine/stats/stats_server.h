// Where `railweave-info --pid` asks: a unix-domain socket "railweave-<pid>-<first 8 hex of the instance>.sock", for
// this user only. A client connects, gets the JSON of stats_json.h in a sealed memory file (so that answering never
// blocks, however many lanes there are) and is closed.
//
// Threads: one at a time. Life: the socket file goes with the object, but not with a forked child's copy of it. A file
// that a killed process left is removed by the next open() of the same user.
#pragma once

#include <sys/types.h>
#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "railweave/stats.h"
#include "railweave/status.h"

namespace railweave::engine {

class StatsServer {
 public:
  // `instance_hex`: at least 8 digits. Errors: invalid_config (`dir` too long for a socket's name), system. An engine
  // does without, then.
  static Result<std::unique_ptr<StatsServer>> open(const std::string& dir, const std::string& instance_hex);
  ~StatsServer();
  StatsServer(const StatsServer&) = delete;
  StatsServer& operator=(const StatsServer&) = delete;

  // Readable when a client waits.
  int descriptor() const { return listener_.get(); }
  const std::string& path() const { return path_; }

  // Answers one waiting client, if there is one, with what `ask` tells. Never blocks; a client that does not take the
  // answer goes without. Errors: system (no descriptors): the client waits on, and descriptor() stays readable.
  Status serve(const std::function<EngineStats()>& ask);

 private:
  StatsServer(OwnedFd listener, std::string path);

  OwnedFd listener_;
  std::string path_;
  pid_t owner_;
};

}  // namespace railweave::engine
