// A logger of NCCL's type that keeps all lines. One per process, like NCCL's. Threads: any.
#pragma once

#include <string>
#include <vector>

#include "nccl/abi/net.h"

namespace railweave::nccl_test {

struct LogLine {
  nccl::abi::LogLevel level;
  unsigned long flags;
  std::string text;
};

void capture_log(nccl::abi::LogLevel level, unsigned long flags, const char* file, int line, const char* format, ...)
    __attribute__((format(printf, 5, 6)));

std::vector<LogLine> captured_log();
std::vector<std::string> captured_warnings();
void clear_captured_log();

// Returns all warnings, one per line.
std::string warnings_text();

}  // namespace railweave::nccl_test
