// Finds what is installed beside the program `railweave`.
#pragma once

#include <filesystem>

#include "railweave/status.h"

namespace railweave::perf {

// Returns the path of the running program, without symbolic links. Errors: system (/proc is not mounted).
Result<std::filesystem::path> own_program();

// Returns the NCCL plugin that is installed with `program`, without symbolic links. A package and a tarball keep the
// program in bin/ and the plugin in lib/; Debian's folder is lib/TRIPLET/. Errors: system, with the folders searched.
Result<std::filesystem::path> plugin_of(const std::filesystem::path& program);

}  // namespace railweave::perf
