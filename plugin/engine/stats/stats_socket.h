// Names and addresses of the statistics sockets of a host's processes, for StatsServer and its clients.
// Threads: any.
#pragma once

#include <sys/un.h>
#include <string>
#include <string_view>
#include <vector>

#include "railweave/status.h"

namespace railweave::engine {

// Returns "<dir>/railweave-<pid>-<first 8 hex digits of the instance>.sock". `pid`: as its own process sees it.
std::string stats_socket_path(const std::string& dir, int pid, std::string_view instance_hex);

// Returns the paths of all statistics sockets in `dir`, sorted, at most 4096; none if `dir` cannot be read.
std::vector<std::string> stats_sockets(const std::string& dir);

// Returns the pid in the path's file name; 0: there is none.
int pid_in_name(const std::string& path);

// Errors: invalid_config (`path` is too long for a socket).
Result<sockaddr_un> socket_address(const std::string& path);

}  // namespace railweave::engine
