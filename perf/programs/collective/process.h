// main() of the nine programs.
#pragma once

#include "collective/operation.h"

namespace railweave::perf::collective {

// Runs one program. Returns the exit status.
int run_program(const Operation& operation, int argc, char** argv);

}  // namespace railweave::perf::collective
