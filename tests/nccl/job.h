// Two ranks on two hosts: every version and every kind of traffic, one after the other.
#pragma once

namespace railweave::nccl_test {

// RANK (0 or 1), MASTER_ADDR and MASTER_PORT come from the environment. Prints a line per scenario; gives the exit
// status.
int run_job();

}  // namespace railweave::nccl_test
