// Who this process is among the processes of a run, and where their ranks meet: by Open MPI, by the variables that
// torchrun and tools/lab set, forked here (--local), or alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "collective/options.h"
#include "collectives/rendezvous/store.h"

namespace railweave::perf::collective {

// Where the ranks of a run meet: a folder, or rank 0's address.
struct RendezvousPlace {
  std::string folder;
  std::string address;
  std::uint16_t port = 0;
  std::shared_ptr<collectives::Store> served;  // rank 0's own, where it is open already
  Nanos patience{0};
};

struct Place {
  int process = 0, processes = 1;
  int process_on_host = 0;
  bool one_machine = false;  // all of them are here: loopback will do
  RendezvousPlace meeting;

  // For one rank, a store of its own. Errors: what the store said.
  Result<std::shared_ptr<collectives::Store>> open_store(int rank) const;
};

// How many processes run_launched() makes of this one; 0: a launcher started all of them.
int processes_here(const LaunchOptions& options);

// Runs `body` in every process of the run (with --local, forks; no thread may run yet). Returns the exit status of this
// process: that of its body, or 1, its reason on stderr, if the ranks cannot meet or a forked process failed.
int run_launched(const LaunchOptions& options, const std::function<int(const Place&)>& body);

}  // namespace railweave::perf::collective
