#include "collective/mpi_module.h"

#include <mpi.h>

#pragma GCC visibility push(default)

int railweave_mpi_open(int* rank, int* size, int* rank_on_host, int* size_on_host) {
  int given = 0;
  // Other threads run, but only this one calls MPI.
  if (const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given); error != MPI_SUCCESS)
    return error;
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, size);
  MPI_Comm host = MPI_COMM_NULL;
  if (const int error = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, *rank, MPI_INFO_NULL, &host);
      error != MPI_SUCCESS) {
    return error;
  }
  MPI_Comm_rank(host, rank_on_host);
  MPI_Comm_size(host, size_on_host);
  return MPI_Comm_free(&host);
}

void railweave_mpi_broadcast(void* data, int bytes) { MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD); }

void railweave_mpi_close() { MPI_Finalize(); }

#pragma GCC visibility pop
