// Open MPI as a launcher: provides ranks and brings rank 0's address to all. MPI is called only by a module
// (mpi_module.cc, built where CMake finds MPI) that is loaded only under mpirun, so the programs themselves need no
// MPI.
#pragma once

#include "collective/launch.h"

namespace railweave::perf::collective {

class MpiWorld {
 public:
  // Whether mpirun started this process.
  static bool launched();
  // Errors: system if the module is missing (not built) or MPI does not start.
  static Result<MpiWorld> open();

  // Rank 0 begins to serve a store and broadcasts its address to all ranks. Errors: those of the store.
  Status meet(StoreLocation& place) const;
  // Finalizes MPI. Call once all ranks are done.
  void close() const { close_(); }

  int rank = 0, size = 1, rank_on_host = 0;

 private:
  bool one_host_ = false;
  void (*broadcast_)(void* data, int bytes) = nullptr;
  void (*close_)() = nullptr;
};

}  // namespace railweave::perf::collective
