// Functions of the MPI module that mpi_world.cc calls.
#pragma once

extern "C" {

// Returns 0 or MPI's error code.
int railweave_mpi_open(int* rank, int* size, int* rank_on_host, int* size_on_host);
// Broadcasts from rank 0.
void railweave_mpi_broadcast(void* data, int bytes);
void railweave_mpi_close();
}
