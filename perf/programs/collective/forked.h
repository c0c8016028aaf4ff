// Forks the processes of a run on one machine.
#pragma once

#include <functional>
#include <string>

namespace railweave::perf::collective {

// Runs body(process, folder) in `processes` children of this process, or in this process if that is one. `folder` is
// empty at first, common to all, and removed in the end, even if the processes are killed. A child returns the exit
// status of its body. The parent waits for all and returns the first failure's exit status, else 0. After a failure the
// other children get 3 s and are then killed. REQUIRES: no other thread runs.
int run_forked(int processes, const std::function<int(int process, const std::string& folder)>& body);

}  // namespace railweave::perf::collective
