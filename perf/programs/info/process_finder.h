// Which running processes have an engine, and where to ask them.
#pragma once

#include <sys/types.h>
#include <string>
#include <vector>

#include "railweave/status.h"

namespace railweave::info {

struct RunningEngine {
  std::string path;     // of its statistics socket
  pid_t pid = 0;        // as this process sees it; 0: in a pid namespace out of sight
  int pid_in_name = 0;  // as it sees itself
  std::string command;  // of /proc/<pid>/comm; empty when that cannot be read
};

// Those of `dir` that listen and let us in, by pid.
std::vector<RunningEngine> running_engines(const std::string& dir);

// Those of process `pid`, one or more. pid namespaces repeat pids, so what counts is who the kernel says listens, not
// the socket's name. Errors: invalid_argument; the message lists the processes that have an engine.
Result<std::vector<RunningEngine>> engines_of(const std::string& dir, pid_t pid);

// One line per engine; empty when there is none.
std::string engines_text(const std::vector<RunningEngine>& engines);

}  // namespace railweave::info
