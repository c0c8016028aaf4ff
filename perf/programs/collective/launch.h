// Finds this process's place in a run and the store of its ranks. Sources: Open MPI, the variables that torchrun and
// tools/lab set, a fork by this process (--local), or a run of one process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "collective/options.h"
#include "collectives/rendezvous/store.h"

namespace railweave::perf::collective {

// The store through which the ranks of a run find each other: a folder, or rank 0's address.
struct StoreLocation {
  std::string folder;
  std::string address;
  std::uint16_t port = 0;
  std::shared_ptr<collectives::Store> served;  // rank 0's own store, if already open; else null
  Nanos patience{0};
};

struct Place {
  int process = 0, processes = 1;
  int process_on_host = 0;
  bool one_machine = false;  // all processes are on this machine: loopback suffices
  StoreLocation location;

  // Opens a store for one rank, not shared with other ranks. Errors: those of the store.
  Result<std::shared_ptr<collectives::Store>> open_store(int rank) const;
};

// Returns how many processes run_launched() makes of this one; 0: a launcher started all of them.
int processes_here(const LaunchOptions& options);

// Runs `body` in every process of the run. With --local, forks first; no other thread may run yet. Returns this
// process's exit status: that of its body, or 1 if the ranks found no store or a forked process failed, with the reason
// on stderr.
int run_launched(const LaunchOptions& options, const std::function<int(const Place&)>& body);

}  // namespace railweave::perf::collective
