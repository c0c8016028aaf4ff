// Tracks whether the table's last line is unfinished, so that an error of any process of the run begins a new line. The
// state is shared with the processes that are forked after share_open_row(). Threads: any.
#pragma once

#include <string_view>

#include "railweave/log.h"

namespace railweave::perf::collective {

// REQUIRES: no row is open.
void share_open_row();
void set_row_open(bool open);

// Prints `text` and a newline on stderr. Ends an open row first.
void say_error(std::string_view text);

// A LogSink: prints the library's warnings on stderr. Leaves an open row alone if stdout is not where stderr is.
void show_warnings(LogLevel level, LogTopic topic, const char* file, int line, std::string_view text);

}  // namespace railweave::perf::collective
