// A file for results: a new file, an existing one, or a stream (a device, a pipe, /dev/stdout). Errors name the file.
#pragma once

#include <string>
#include <string_view>

#include "railweave/status.h"

namespace railweave::perf {

// Checks before the measurement that the file could be written. Leaves nothing behind.
Status check_output_file(const std::string& path);

// Writes a regular file whole or not at all: no reader sees half of the text, and the old file stays after a failure.
Status write_output_file(const std::string& path, std::string_view text);

// Whether `path` is a stream, which takes text as it comes, so that there is no file to replace.
bool is_stream(const std::string& path);

}  // namespace railweave::perf
