// A file that results go to: a new one, one that is there, or what takes text as it comes (a device, a pipe,
// /dev/stdout). Errors name it.
#pragma once

#include <string>
#include <string_view>

#include "railweave/status.h"

namespace railweave::perf {

// Whether it could be written now; for before the measuring. Leaves nothing behind.
Status check_output_file(const std::string& path);

// A file appears whole or not at all: no reader sees half of it, and what was there stays when it fails.
Status write_output_file(const std::string& path, std::string_view text);

// Whether `path` takes text as it comes, so that there is nothing to replace.
bool is_stream(const std::string& path);

}  // namespace railweave::perf
