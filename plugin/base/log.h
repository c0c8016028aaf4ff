// Log lines: RW_WARN(net, "rail {} lost: {}", name, why). The first argument is a LogTopic, the others are fmt's.
// Control bytes in a line become '?', because names and reasons may come from the network unchecked.
// Without a sink a line costs one atomic load, and its arguments are not evaluated.
// Threads: any. Never log on the data path: the sink may take a lock.
#pragma once

#include <fmt/core.h>
#include <atomic>
#include <utility>

#include "railweave/log.h"

namespace railweave {

// Longest text that a sink receives, bytes; a longer line is cut and ends in "...".
inline constexpr std::size_t kLogLineBytes = 1023;

extern std::atomic<LogSink> current_log_sink;

// Formats a line and passes it to the sink. Never throws: a line that cannot be formatted is passed unformatted.
void write_log_line(LogLevel level, LogTopic topic, const char* file, int line, fmt::string_view format,
                    fmt::format_args args) noexcept;

template <class... Args>
void log_line(LogLevel level, LogTopic topic, const char* file, int line, fmt::format_string<Args...> format,
              Args&&... args) {
  write_log_line(level, topic, file, line, format, fmt::make_format_args(args...));
}

}  // namespace railweave

#define RW_LOG(level, topic, ...)                                                                           \
  do {                                                                                                      \
    if (::railweave::current_log_sink.load(std::memory_order_relaxed) != nullptr) [[unlikely]]              \
      ::railweave::log_line(::railweave::LogLevel::level, ::railweave::LogTopic::topic, __FILE__, __LINE__, \
                            __VA_ARGS__);                                                                   \
  } while (false)

#define RW_WARN(topic, ...) RW_LOG(warn, topic, __VA_ARGS__)
#define RW_INFO(topic, ...) RW_LOG(info, topic, __VA_ARGS__)
#define RW_TRACE(topic, ...) RW_LOG(trace, topic, __VA_ARGS__)
