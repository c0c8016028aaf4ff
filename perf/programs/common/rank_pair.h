// Two processes, ranks 0 and 1, of one perf program. The lab or another launcher starts them and describes them in the
// environment, or this process forks rank 1. One process may be rank 1 for several ranks 0.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/control_connection.h"
#include "common/host_ports.h"

namespace CLI {
class App;
}

namespace railweave::perf {

struct RankOptions {
  bool local = false;
  int rank = -1;
  int world_size = 2;
  std::string master_address;
  std::uint16_t master_port = 0;
  double patience_s = 30;
  // rank 1 only: where to connect to each rank 0; empty: the master's address and port
  std::vector<HostPort> places;
};

// Adds --local, --patience, and --rank, --world-size, --master-addr, --master-port with their defaults from RANK,
// WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
void add_rank_options(CLI::App& app, RankOptions& options);

// Errors: invalid_argument when the command line has --local together with an option that names this rank.
Status check_rank_words(std::span<const char* const> words);

// Connects to the other rank and calls `body` with the control connection. With `local`, forks rank 1 first and waits
// for it; no other thread may run yet. With `places`, connects to each rank 0 and calls `body` in one thread for each;
// a thread that fails does not end the others. Returns the exit status: 1 if a rank failed, with its reason on stderr.
int run_rank(const RankOptions& options, const std::function<Status(ControlConnection&)>& body);

}  // namespace railweave::perf
