// Processes of one machine, forked.
#pragma once

#include <functional>
#include <string>

namespace railweave::perf::collective {

// Runs body(process, folder) in `processes` children of this process, or here if it is one; `folder` is empty at first,
// common to all, and removed in the end, even if they are killed. Returns, in each, its body's exit status; in this
// process, which waits for them, that of the first that failed, else 0. The others of a failed one are ended soon
// after. REQUIRES: no thread runs.
int run_forked(int processes, const std::function<int(int process, const std::string& folder)>& body);

}  // namespace railweave::perf::collective
