#include "tests/nccl/log_capture.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace railweave::nccl_test {
namespace {

std::mutex mutex;
std::vector<LogLine>& lines = *new std::vector<LogLine>;  // never destroyed: engines log while the process exits

}  // namespace

void capture_log(nccl::abi::LogLevel level, unsigned long flags, const char*, int, const char* format, ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::lock_guard lock(mutex);
  lines.push_back({level, flags, text});
}

std::vector<LogLine> captured_log() {
  const std::lock_guard lock(mutex);
  return lines;
}

std::vector<std::string> captured_warnings() {
  std::vector<std::string> warnings;
  for (const LogLine& line : captured_log())
    if (line.level == nccl::abi::kLogWarn) warnings.push_back(line.text);
  return warnings;
}

void clear_captured_log() {
  const std::lock_guard lock(mutex);
  lines.clear();
}

std::string warnings_text() {
  std::string text;
  for (const std::string& warning : captured_warnings()) text += warning + "\n";
  return text;
}

}  // namespace railweave::nccl_test
