// Two ranks on two hosts: every version and every kind of traffic, one after the other; or one that is cut off.
#pragma once

namespace railweave::nccl_test {

// RANK (0 or 1), MASTER_ADDR and MASTER_PORT come from the environment. Prints a line per scenario; gives the exit
// status.
int run_job();

// The same two ranks: traffic both ways until nothing comes any more, because somebody cuts all cables; then both abort
// at once.
int run_job_into_an_outage();

}  // namespace railweave::nccl_test
