#include "base/log.h"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <array>

namespace railweave {
namespace {

constexpr std::string_view kCut = "...";

// Returns the line for a text of `wanted` bytes, whose beginning is in `buffer`: no trailing newline, no cut UTF-8
// character, no control byte. A control byte could forge another line in the log, or control a terminal.
std::string_view finish_line(std::array<char, kLogLineBytes>& buffer, std::size_t wanted) {
  std::size_t size = std::min(wanted, buffer.size());
  if (wanted > buffer.size()) {
    size -= kCut.size();
    while (size > 0 && (static_cast<unsigned char>(buffer[size]) & 0xC0) == 0x80) --size;
    size += kCut.copy(buffer.data() + size, kCut.size());
  }
  while (size > 0 && buffer[size - 1] == '\n') --size;
  std::replace_if(
      buffer.begin(), buffer.begin() + std::ptrdiff_t(size),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return {buffer.data(), size};
}

}  // namespace

constinit std::atomic<LogSink> current_log_sink{nullptr};

LogSink set_log_sink(LogSink sink) { return current_log_sink.exchange(sink, std::memory_order_acq_rel); }

void write_log_line(LogLevel level, LogTopic topic, const char* file, int line, fmt::string_view format,
                    fmt::format_args args) noexcept {
  const LogSink sink = current_log_sink.load(std::memory_order_acquire);
  if (!sink) return;
  std::array<char, kLogLineBytes> buffer;
  try {
    const auto out = fmt::vformat_to_n(buffer.data(), buffer.size(), format, args);
    sink(level, topic, file, line, finish_line(buffer, out.size));
  } catch (...) {  // logging must not fail the caller: the sink gets the unformatted text
    sink(level, topic, file, line, std::string_view(format.data(), std::min(format.size(), kLogLineBytes)));
  }
}

void log_to_stderr(LogLevel level, LogTopic, const char*, int, std::string_view text) {
  static constexpr std::array<std::string_view, 3> kPrefix = {"WARN ", "INFO ", "TRACE "};
  fmt::memory_buffer out;
  fmt::format_to(std::back_inserter(out), "railweave {}{}\n", kPrefix[static_cast<std::size_t>(level)], text);
  // One write, so that lines of several threads and processes stay whole.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, out.data(), out.size());
}

}  // namespace railweave
