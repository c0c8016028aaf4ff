// Whether the table's last line is unfinished, so that an error begins a line of its own, whichever process of the run
// says it. Known to this process and to those that it forks after share(). Any thread.
#pragma once

#include <string_view>

#include "railweave/log.h"

namespace railweave::perf::collective {

// REQUIRES: no row is open.
void share_open_row();
void set_row_open(bool open);

// On stderr, a newline after it; ends an open row first.
void say_error(std::string_view text);

// A LogSink: of the library's lines the warnings, on stderr. They leave an open row alone where stdout goes elsewhere.
void show_warnings(LogLevel level, LogTopic topic, const char* file, int line, std::string_view text);

}  // namespace railweave::perf::collective
