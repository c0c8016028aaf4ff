// Two ranks on two hosts: all scenarios in every version, one after the other, or traffic that an outage cuts off.
#pragma once

namespace railweave::nccl_test {

// Reads RANK (0 or 1), MASTER_ADDR and MASTER_PORT from the environment. Prints a line per scenario, and returns the
// exit status.
int run_job();

// As above, but with traffic both ways until nothing arrives any more, because the caller cuts all cables. Then both
// ranks abort at once.
int run_job_into_an_outage();

}  // namespace railweave::nccl_test
