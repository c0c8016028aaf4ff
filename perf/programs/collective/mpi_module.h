// The functions of the MPI module, by which mpi_world.cc calls it.
#pragma once

extern "C" {

// 0, or MPI's error.
int railweave_mpi_open(int* rank, int* size, int* rank_on_host, int* size_on_host);
// From rank 0 to all.
void railweave_mpi_broadcast(void* data, int bytes);
void railweave_mpi_close();
}
