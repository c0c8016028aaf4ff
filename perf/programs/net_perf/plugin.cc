#include "net_perf/plugin.h"

#include <fmt/core.h>
#include <strings.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdarg>
#include <cstdio>

#include "base/error.h"
#include "common/console.h"

namespace railweave::perf::net_perf {
namespace {

namespace abi = nccl::abi;

// NCCL's logger takes no context, so a process has one level. Threads that load a plugin all set the same one.
std::atomic<int> shown_level = abi::kLogWarn;

int level_named(const std::string& name) {
  const std::pair<const char*, int> levels[] = {{"NONE", abi::kLogNone},
                                                {"VERSION", abi::kLogVersion},
                                                {"WARN", abi::kLogWarn},
                                                {"INFO", abi::kLogInfo},
                                                {"TRACE", abi::kLogTrace}};
  for (const auto& [known, level] : levels) {
    if (::strcasecmp(known, name.c_str()) == 0) return level;
  }
  return abi::kLogWarn;
}

__attribute__((format(printf, 5, 6))) void log_to_stderr(abi::LogLevel level, unsigned long, const char*, int,
                                                         const char* format, ...) {
  if (level > shown_level) return;
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  say(stderr, "{} {}\n", level <= abi::kLogWarn ? "WARN" : level == abi::kLogInfo ? "INFO" : "TRACE", line);
}

const char* name_of(abi::ReturnCode code) {
  switch (code) {
    case abi::kSuccess: return "ncclSuccess";
    case abi::kUnhandledCudaError: return "ncclUnhandledCudaError";
    case abi::kSystemError: return "ncclSystemError";
    case abi::kInternalError: return "ncclInternalError";
    case abi::kInvalidArgument: return "ncclInvalidArgument";
    case abi::kInvalidUsage: return "ncclInvalidUsage";
    case abi::kRemoteError: return "ncclRemoteError";
    case abi::kInProgress: return "ncclInProgress";
  }
  return "an unknown ncclResult_t";
}

}  // namespace

Status status_of_call(abi::ReturnCode code, const std::string& call) {
  if (code == abi::kSuccess) return {};
  return Status(code == abi::kRemoteError ? Code::remote : Code::system, Scope::engine,
                fmt::format("{}: {} ({})", call, name_of(code), int(code)));
}

Result<std::unique_ptr<Plugin>> Plugin::load(const Options& options) {
  std::unique_ptr<Plugin> plugin(new Plugin);
  RW_TRY(plugin->open(options));
  RW_TRY(plugin->init(options));
  return plugin;
}

Status Plugin::open(const Options& options) {
  path_ = options.plugin_path;
  shown_level = level_named(options.log_level);
  const auto named = [&](const Status& refused) {
    return Status(refused.code(), refused.scope(), "plugin " + path_ + ": " + refused.message());
  };
  auto library = any_net::Library::open(path_);
  if (!library.ok()) return named(library.status());
  library_.emplace(std::move(*library));
  auto net = options.api_version == 0 ? library_->newest_net() : library_->net(options.api_version);
  if (!net.ok()) return named(net.status());
  net_ = std::move(*net);
  return {};
}

Status Plugin::init(const Options& options) {
  RW_TRY(status_of_call(net_->init(&context_, abi::kTrafficClassUndefined, &log_to_stderr), "init"));
  initialised_ = true;
  int devices = 0;
  RW_TRY(status_of_call(net_->devices(&devices), "devices"));
  device_ = options.device;
  if (device_ < 0 || device_ >= devices) {
    return Status(Code::invalid_argument, Scope::engine,
                  fmt::format("--device {}: the plugin has {} device(s)", device_, devices));
  }
  return status_of_call(net_->properties(device_, properties_), "getProperties");
}

Plugin::~Plugin() {
  if (initialised_) net_->finalize(context_);
}

bool Plugin::is_railweave() const { return ::strncasecmp(net_->name(), "railweave", 9) == 0; }

nlohmann::json Plugin::to_json() const {
  return {{"path", path_},
          {"name", net_->name()},
          {"api", "v" + std::to_string(net_->version())},
          {"device",
           {{"name", properties_.name}, {"speed_mbps", properties_.speed_mbps}, {"max_comms", properties_.max_comms}}}};
}

}  // namespace railweave::perf::net_perf
