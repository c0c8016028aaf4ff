// Ranks as processes, which may be killed, with a store that rank 0 keeps.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "collectives/group/group.h"

namespace railweave::collectives_test {

// Engine, store and group of one rank in this process. `port` 0: it keeps the store, and `served` says at which.
Result<std::shared_ptr<collectives::Group>> join_job(const collectives::Group::Options& options, std::uint16_t port,
                                                     const std::function<void(std::uint16_t)>& served = {},
                                                     bool shared_memory = false);

// A child of this process. Ends on its own within a minute.
class Process {
 public:
  // What `body` answers is the child's last word; it then ends at once, as one does that has crashed.
  // `say(line)` tells something before.
  using Say = std::function<void(const std::string&)>;
  explicit Process(const std::function<std::string(const Say& say)>& body);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void kill();
  // The next line that it said; empty if it ended without.
  std::string line();

 private:
  OwnedFd hears_;
  std::string heard_;
  pid_t pid_ = -1;
};

}  // namespace railweave::collectives_test
