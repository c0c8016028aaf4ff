// The sink of the library's log lines: one for the process. The plugin sets NCCL's logger, programs set stderr.
// Threads: any. The sink may take a lock: never log on the data path. Lines have no newline at the end and fewer than
// 1024 bytes.
#pragma once

#include <string_view>

namespace railweave {

enum class LogLevel { warn, info, trace };
// The subject of a line; sinks filter by topic (NCCL_DEBUG_SUBSYS).
enum class LogTopic { init, net, env };

// `text` is valid during the call only. `file` and `line`: the place in the source.
using LogSink = void (*)(LogLevel, LogTopic, const char* file, int line, std::string_view text);

// Replaces the process's sink and returns the previous sink. Null, the default, discards all lines.
LogSink set_log_sink(LogSink sink);

// Writes `text` to stderr with a level prefix; for programs.
void log_to_stderr(LogLevel, LogTopic, const char* file, int line, std::string_view text);

}  // namespace railweave
