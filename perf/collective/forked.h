// Processes of one machine, forked.
#pragma once

#include <functional>
#include <string>

namespace railweave::perf::collective {

// Runs body(process, folder) in `processes` processes, this being process 0; `folder` is empty at first, common to all,
// and removed in the end, even if they are killed. Returns, in each, its body's exit status; in process 0, which waits for the others, 1 if any
// failed. REQUIRES: no thread runs.
int run_forked(int processes, const std::function<int(int process, const std::string& folder)>& body);

}  // namespace railweave::perf::collective
