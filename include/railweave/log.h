// One sink for everything the library says. The plugin points it at NCCL's logger; programs at stderr.
// Threads: any. The sink may take a lock: never log on the data path. No line ends in a newline; lines stay under 1
// KiB.
#pragma once

#include <string_view>

namespace railweave {

enum class LogLevel { warn, info, trace };
// What a line is about; sinks filter on it (NCCL_DEBUG_SUBSYS).
enum class LogTopic { init, net, env };

using LogSink = void (*)(LogLevel, LogTopic, const char* file, int line, std::string_view text);

// Replaces the sink for the process; null silences. Returns the one before. The default is null: a library is silent.
LogSink set_log_sink(LogSink sink);

// Writes "text" to stderr with a level prefix; for programs.
void log_to_stderr(LogLevel, LogTopic, const char* file, int line, std::string_view text);

}  // namespace railweave
