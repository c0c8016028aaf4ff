// Open MPI as a launcher: it tells ranks, and brings them rank 0's address. All of it is in a module of its own
// (mpi_module.cc, built where CMake finds MPI) that is loaded only under mpirun, so that the programs need no MPI.
#pragma once

#include "collective/launch.h"

namespace railweave::perf::collective {

class MpiWorld {
 public:
  // Whether mpirun started this process.
  static bool launched();
  // Errors: the module is not there (not built), or MPI would not start.
  static Result<MpiWorld> open();

  // Rank 0 begins to serve a store; everybody learns where. Errors: what the store said.
  Status meet(RendezvousPlace& place) const;
  // Once all ranks are done.
  void close() const { close_(); }

  int rank = 0, size = 1, rank_on_host = 0;

 private:
  bool one_host_ = false;
  void (*broadcast_)(void* data, int bytes) = nullptr;
  void (*close_)() = nullptr;
};

}  // namespace railweave::perf::collective
