// Serves statistics to `railweave info --pid`, by a unix-domain socket for this user only. The socket's name is
//
//   railweave-<pid>-<first 8 hex digits of the instance>.sock
//
// A client connects, gets the JSON of stats_json.h in a sealed memory file, and is disconnected. With a file, an answer
// never blocks, whatever the number of lanes.
//
// Threads: one at a time.
// Lifetime: the object's destructor removes the socket file, except in a forked child. The next open() of the same user
// removes files that killed processes left.
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
  // `instance_hex`: at least 8 digits. Errors: invalid_config (`dir` is too long for a socket's name), system.
  static Result<std::unique_ptr<StatsServer>> open(const std::string& dir, const std::string& instance_hex);
  ~StatsServer();
  StatsServer(const StatsServer&) = delete;
  StatsServer& operator=(const StatsServer&) = delete;

  // Readable when a client waits.
  int descriptor() const { return listener_.get(); }
  const std::string& path() const { return path_; }

  // Sends the result of `ask` to one waiting client, if there is one. Never blocks: a client that does not take the
  // answer is disconnected without it. Errors: exhausted (no descriptors or memory), system; the client keeps waiting,
  // and descriptor() stays readable.
  Status serve(const std::function<EngineStats()>& ask);

 private:
  StatsServer(OwnedFd listener, std::string path);

  OwnedFd listener_;
  std::string path_;
  pid_t owner_;  // the process that removes the file
};

}  // namespace railweave::engine
