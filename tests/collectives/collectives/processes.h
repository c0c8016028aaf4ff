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

// Joins a job as one rank, with an engine of its own. `port` 0: this rank keeps the store. `served` receives the
// store's port before the ranks meet.
Result<std::shared_ptr<collectives::Group>> join_job(const collectives::Group::Options& options, std::uint16_t port,
                                                     const std::function<void(std::uint16_t)>& served = {},
                                                     bool shared_memory = false);

// A child of this process. alarm() ends it after a minute.
class Process {
 public:
  // Runs `body` in the child, sends its result as the last line, and ends at once, without destructors, as if crashed.
  // `say(line)` sends a line before.
  using Say = std::function<void(const std::string&)>;
  explicit Process(const std::function<std::string(const Say& say)>& body);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void kill();
  // Returns the next line that the child sent; empty: it ended without one.
  std::string line();

 private:
  OwnedFd hears_;
  std::string heard_;
  pid_t pid_ = -1;
};

}  // namespace railweave::collectives_test
