// Writes a dump's file: new (O_EXCL), for its owner only (0600).
// Threads: any. The GIL is not needed.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "railweave/status.h"

namespace railweave::torch_ext {

// Makes `folder` if it is missing (0700; not its parents). Errors: system, with errno; ENOTDIR: a file has the name.
Status make_dump_folder(const std::string& folder);

// Returns this host's name as the kernel has it, with '-' for characters that a file's name should not have.
std::string host_in_file_names();

// Writes `folder`/`stem`-N.json with the first N from `number` on that is free, and sets `number` to N + 1. Returns the
// path. A file that cannot be written completely is removed. Errors: system, with errno.
Result<std::string> write_dump_file(const std::string& folder, const std::string& stem, std::atomic<int>& number,
                                    std::string_view text);

}  // namespace railweave::torch_ext
