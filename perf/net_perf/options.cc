#include "net_perf/options.h"

#include <filesystem>

#include "base/error.h"
#include "nccl/abi.h"

namespace railweave::perf::net_perf {
namespace {

void add_plugin_options(CLI::App& app, Options& o) {
  const std::string group = "Plugin";
  app.add_option("--plugin", o.plugin_path, "library; default: ../lib/libnccl-net-railweave.so beside this program")
      ->group(group);
  app.add_option("--api", o.api, "version of the net API, v6 to v12, or newest")->capture_default_str()->group(group);
  app.add_option("--device", o.device, "the plugin's device")->capture_default_str()->group(group);
  app.add_option("--log", o.log_level, "what of the plugin's log to show")
      ->envname("NCCL_DEBUG")
      ->check(CLI::IsMember({"NONE", "VERSION", "WARN", "INFO", "TRACE"}, CLI::ignore_case))
      ->capture_default_str()
      ->group(group);
}

void add_load_options(CLI::App& app, Options& o) {
  const std::string group = "Load";
  app.add_option("--mode", o.mode, "throughput or pingpong")
      ->check(CLI::IsMember({"throughput", "pingpong"}))
      ->capture_default_str()
      ->group(group);
  app.add_flag("--both", o.both, "both ways at once")->group(group);
  app.add_option("--size", o.size_text, "bytes per message")->capture_default_str()->group(group);
  app.add_option("--random-sizes", o.random_text, "sizes drawn from a range, as 0..8M, instead")->group(group);
  app.add_option("--seed", o.seed, "of random sizes and patterns")->capture_default_str()->group(group);
  app.add_option("--inflight", o.inflight, "messages in flight per comm")
      ->check(CLI::Range(1, nccl::abi::kMaxRequests))
      ->capture_default_str()
      ->group(group);
  app.add_option("--comms", o.comms, "connections each way")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str()
      ->group(group);
  app.add_flag("--verify", o.verify, "check every byte")->group(group);
  app.add_option("--sleep-us", o.sleep_us, "sleep when a pass moved nothing; 0: only yield")
      ->capture_default_str()
      ->group(group);
  app.add_option("--sizes", o.sizes_text, "pingpong: message sizes")->capture_default_str()->group(group);
  app.add_option("--iterations", o.iterations, "pingpong: timed round trips per size")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(group);
  app.add_option("--file", o.file, "send this file from rank 0 over one connection instead")
      ->check(CLI::ExistingFile)
      ->group(group);
  app.add_option("--output", o.output, "with --file: rank 1 stores what it received there")->group(group);
}

void add_measuring_options(CLI::App& app, Options& o) {
  const std::string group = "Measuring";
  app.add_option("--duration", o.duration_s, "seconds of the timed block")->capture_default_str()->group(group);
  app.add_option("--warmup", o.warmup_s, "seconds before it; none with --file")->capture_default_str()->group(group);
  app.add_option("--bytes", o.bytes_text, "timed block of so many bytes per comm instead of a duration")->group(group);
  app.add_option("--interval-ms", o.interval_ms, "bin of the time series")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(group);
  app.add_option("--baseline", o.baseline_s, "seconds to sleep first, to measure the machine's own load")->group(group);
  app.add_option("--at", o.at, "SECONDS:COMMAND, run by rank 0 that long after the timed block began")
      ->take_all()
      ->type_size(1)
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--progress", o.progress, "a line per second on stderr")->group(group);
  app.add_option("--json", o.json_path, "write the results there (rank 0)")->group(group);
}

Result<int> parse_api(const std::string& text) {
  if (text == "newest") return 0;
  const std::string digits = text.substr(text.empty() || text[0] != 'v' ? 0 : 1);
  for (int v = nccl::abi::kOldestVersion; v <= nccl::abi::kNewestVersion; ++v) {
    if (digits == std::to_string(v)) return v;
  }
  return Status(Code::invalid_argument, Scope::request, "--api '" + text + "': expected v6 to v12, or newest");
}

std::string default_plugin() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path().parent_path() / "lib" / "libnccl-net-railweave.so").string();
}

}  // namespace

void add_options(CLI::App& app, Options& options) {
  add_plugin_options(app, options);
  add_load_options(app, options);
  add_measuring_options(app, options);
  add_rank_options(app, options.ranks);
}

Status Options::resolve() {
  RW_ASSIGN_OR_RETURN(size, parse_size(size_text));
  RW_ASSIGN_OR_RETURN(bytes, parse_size(bytes_text));
  RW_ASSIGN_OR_RETURN(sizes, parse_sizes(sizes_text));
  RW_ASSIGN_OR_RETURN(api_version, parse_api(api));
  range = SizeRange{size, size};
  if (random_sizes()) {
    RW_ASSIGN_OR_RETURN(range, parse_size_range(random_text));
  }
  if (range.largest > nccl::abi::kMaxMessageBytesInt) {
    return Status(Code::invalid_argument, Scope::request, "messages of more than 1 GiB: NCCL never sends such");
  }
  if (bytes > 0 && range.largest == 0) {
    return Status(Code::invalid_argument, Scope::request, "--bytes with empty messages would never end");
  }
  if (!file.empty()) {
    mode = "file";
    if (size == 0) return Status(Code::invalid_argument, Scope::request, "--file with empty messages would never end");
  }
  if (plugin_path.empty()) plugin_path = default_plugin();
  return {};
}

}  // namespace railweave::perf::net_perf
