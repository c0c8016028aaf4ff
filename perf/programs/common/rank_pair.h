// Two processes, ranks 0 and 1, of one perf program: started by the lab (or any launcher) and found through the
// environment, or forked here. One process may be rank 1 of several ranks 0.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/meeting_places.h"
#include "common/rendezvous.h"

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
  // rank 1: meets a rank 0 at each of them; empty: at the master's address and port
  std::vector<RendezvousPlace> places;
};

// --local, --patience, and --rank, --world-size, --master-addr, --master-port with RANK, WORLD_SIZE, MASTER_ADDR,
// MASTER_PORT.
void add_rank_options(CLI::App& app, RankOptions& options);

// Errors: --local among the words of a command line, and what says which rank this is.
Status check_rank_words(std::span<const char* const> words);

// Meets the other rank and runs `body` with the control connection; with `local` forks rank 1 first (no thread may run
// yet) and waits for it; with `places` meets the rank 0 of each, and calls `body` in a thread for each. A thread that
// fails does not end the others. Returns the process's exit status: 1 when a rank failed, its reason on stderr.
int run_rank(const RankOptions& options, const std::function<Status(Rendezvous&)>& body);

}  // namespace railweave::perf
