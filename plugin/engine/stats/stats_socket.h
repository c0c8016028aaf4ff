// Where the statistics sockets of a host's processes lie; what server and client agree on.
// Threads: any.
#pragma once

#include <sys/un.h>
#include <string>
#include <string_view>
#include <vector>

#include "railweave/status.h"

namespace railweave::engine {

// "<dir>/railweave-<pid>-<first 8 hex of the instance>.sock". The pid is as its process sees it.
std::string stats_socket_path(const std::string& dir, int pid, std::string_view instance_hex);

// Paths of all statistics sockets in `dir`, sorted, at most 4096; none when it cannot be read.
std::vector<std::string> stats_sockets(const std::string& dir);

// The pid in the path's file name; 0 when there is none.
int pid_in_name(const std::string& path);

// Errors: invalid_config when the path is too long for a socket.
Result<sockaddr_un> socket_address(const std::string& path);

}  // namespace railweave::engine
