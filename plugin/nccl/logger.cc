#include "nccl/logger.h"

#include <atomic>

#include "railweave/log.h"

namespace railweave::nccl {
namespace {

std::atomic<abi::Logger> nccl_logger{nullptr};

unsigned long flags_for(LogLevel level, LogTopic topic) {
  if (level == LogLevel::warn) return abi::kSubsysAll;
  switch (topic) {
    case LogTopic::init: return abi::kSubsysInit | abi::kSubsysNet;
    case LogTopic::net: return abi::kSubsysNet;
    case LogTopic::env: return abi::kSubsysEnv;
  }
  return abi::kSubsysNet;
}

abi::LogLevel level_for(LogLevel level) {
  switch (level) {
    case LogLevel::warn: return abi::kLogWarn;
    case LogLevel::info: return abi::kLogInfo;
    case LogLevel::trace: return abi::kLogTrace;
  }
  return abi::kLogInfo;
}

void to_nccl(LogLevel level, LogTopic topic, const char* file, int line, std::string_view text) {
  if (const abi::Logger logger = nccl_logger.load(std::memory_order_acquire))
    logger(level_for(level), flags_for(level, topic), file, line, "NET/Railweave : %.*s", int(text.size()),
           text.data());
}

}  // namespace

void log_through(abi::Logger logger) {
  nccl_logger.store(logger, std::memory_order_release);
  set_log_sink(logger ? to_nccl : nullptr);
}

}  // namespace railweave::nccl
