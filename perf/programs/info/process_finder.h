// Finds the running processes with an engine and their statistics sockets.
#pragma once

#include <sys/types.h>
#include <string>
#include <vector>

#include "railweave/status.h"

namespace railweave::info {

struct RunningEngine {
  std::string path;     // of the statistics socket
  pid_t pid = 0;        // as this process sees it; 0: in a pid namespace that is not visible here
  int pid_in_name = 0;  // as the process itself sees it
  std::string command;  // from /proc/<pid>/comm; empty if that cannot be read
};

// Returns the engines of `dir` that listen and admit this user, by pid. The kernel tells the pid of an engine that
// takes clients. A process that was stopped for long takes none; its pid is then that of the socket's name.
std::vector<RunningEngine> running_engines(const std::string& dir);

// Returns the engines of process `pid`, one or more. Pid namespaces repeat pids, so the kernel's peer credentials
// count before the socket's name. Errors: invalid_argument, listing the processes that have an engine.
Result<std::vector<RunningEngine>> engines_of(const std::string& dir, pid_t pid);

// Returns one line per engine; empty if there is none.
std::string engines_text(const std::vector<RunningEngine>& engines);

}  // namespace railweave::info
