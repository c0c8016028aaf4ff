// railweave-info: shows what Railweave found on this host and why, or what a running process is doing.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "collectives/config/config_section.h"
#include "common/console.h"
#include "common/validators.h"
#include "engine/stats/stats_client.h"
#include "info/host_report.h"
#include "info/process_report.h"
#include "info/watch.h"
#include "torch_ext/config/config_section.h"

namespace railweave::info {
namespace {

constexpr Nanos kPatience = std::chrono::seconds(2);
constexpr int kPidMax = 1 << 22;  // the kernel's own bound
constexpr double kWatchSecondsMin = 0.01, kWatchSecondsMax = 86400;

struct Options {
  int pid = 0;  // 0: this host
  bool json = false;
  double watch_seconds = 0;  // 0: once
  std::string stats_dir;     // empty: the configuration's
};

Status show_host(const Config& config, const Options& options) {
  const HostReport report = survey_host(config);
  if (options.json) {
    perf::say("{}\n", json_text(host_json(report), 2));
  } else {
    const std::string engines = engines_text(running_engines(options.stats_dir));
    perf::say("{}\nProcesses with an engine (railweave-info --pid P)\n{}\n", host_text(report),
              engines.empty() ? "  none, or none that this user may ask" : engines);
  }
  return report.status;
}

Status show_process(const Options& options) {
  RW_ASSIGN_OR_RETURN(const std::vector<RunningEngine> engines, engines_of(options.stats_dir, options.pid));
  if (options.watch_seconds > 0) {
    return watch(engines, Nanos(static_cast<Nanos::rep>(options.watch_seconds * 1e9)), options.json);
  }
  for (const RunningEngine& engine : engines) {
    RW_ASSIGN_OR_RETURN(const EngineStats stats, engine::fetch_stats(engine.path, kPatience));
    perf::say("{}\n", options.json ? json_text(process_json(engine, stats), 2) : process_text(engine, stats));
  }
  return Status();
}

Status run(Options options) {
  collectives::register_config();
  torch_ext::register_config();
  RW_ASSIGN_OR_RETURN(const Config config, Config::from_environment());
  if (options.stats_dir.empty()) options.stats_dir = config.stats_dir;
  return options.pid > 0 ? show_process(options) : show_host(config, options);
}

}  // namespace
}  // namespace railweave::info

int main(int argc, char** argv) {
  using namespace railweave;
  perf::occupy_standard_streams();
  info::Options options;
  CLI::App app(
      "Shows which network interfaces Railweave would use on this host and why, the devices made of them and the\n"
      "configuration in effect; with --pid, what the engine of a running process is doing. Without it an engine is\n"
      "started for a moment, but at no port of RAILWEAVE_PORTS: a job that starts now may want that.\n"
      "Exit status: 0; 1 when nothing is usable, no engine starts, a setting is wrong (also RAILWEAVE_ALGO and\n"
      "RAILWEAVE_SCHEDULE, which the NCCL plugin ignores) or the process cannot be asked; 2 for a wrong command line.",
      "railweave-info");
  CLI::Option* const pid =
      app.add_option("--pid", options.pid, "show rails, lanes and pending requests of this process")
          ->type_name("PID")
          ->check(CLI::Range(1, info::kPidMax));
  app.add_flag("--json", options.json, "print JSON");
  app.add_option("--watch", options.watch_seconds, "with --pid: repeat every so many seconds, until Ctrl-C")
      ->type_name("SECONDS")
      ->needs(pid)
      ->check(perf::number_between(info::kWatchSecondsMin, info::kWatchSecondsMax));
  app.add_option("--stats-dir", options.stats_dir,
                 "where processes keep their sockets (default: RAILWEAVE_STATS_DIR or /tmp)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return perf::status_of_output(app.exit(error) == 0 ? 0 : 2);
  }
  const Status status = info::run(options);
  if (status.ok()) return perf::status_of_output(0);
  std::fflush(stdout);
  perf::say(stderr, "railweave-info: {}\n", status.message());
  return 1;
}
