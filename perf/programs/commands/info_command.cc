// `railweave info`: which interfaces of this host Railweave uses and why; with --pid, what a running process does.
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "commands/commands.h"
#include "commands/process_options.h"
#include "commands/settings.h"
#include "common/console.h"
#include "engine/stats/stats_client.h"
#include "info/host_report.h"
#include "info/process_report.h"

namespace railweave::commands {
namespace {

constexpr Nanos kPatience = std::chrono::seconds(2);

struct Options {
  int pid = 0;  // 0: this host
  bool json = false;
  std::string stats_dir;  // empty: the configuration's
};

Status show_host(const Config& config, const Options& options) {
  const info::HostReport report = info::survey_host(config);
  if (options.json) {
    perf::say("{}\n", info::json_text(info::host_json(report), 2));
  } else {
    const std::string engines = info::engines_text(info::running_engines(options.stats_dir));
    perf::say("{}\nProcesses with an engine (railweave info --pid P)\n{}\n", info::host_text(report),
              engines.empty() ? "  none, or none that this user may ask" : engines);
  }
  return report.status;
}

Status show_process(const Options& options) {
  RW_ASSIGN_OR_RETURN(const std::vector<info::RunningEngine> engines, info::engines_of(options.stats_dir, options.pid));
  for (const info::RunningEngine& engine : engines) {
    RW_ASSIGN_OR_RETURN(const EngineStats stats, engine::fetch_stats(engine.path, kPatience));
    perf::say("{}\n",
              options.json ? info::json_text(info::process_json(engine, stats), 2) : info::process_text(engine, stats));
  }
  return Status();
}

Status run(Options options) {
  RW_ASSIGN_OR_RETURN(const Config config, settings_from_environment());
  if (options.stats_dir.empty()) options.stats_dir = config.stats_dir;
  return options.pid > 0 ? show_process(options) : show_host(config, options);
}

}  // namespace

void add_info(CLI::App& program, int& status) {
  CLI::App* const command = program.add_subcommand(
      "info",
      "Shows which network interfaces Railweave would use on this host and why, the devices made of them and the\n"
      "configuration in effect; with --pid, what the engine of a running process is doing. Without --pid an engine is\n"
      "started for a moment, but at no port of RAILWEAVE_PORTS: a job that starts now may want that.\n"
      "Exit status: 0; 1 when nothing is usable, no engine starts, a setting is wrong (also RAILWEAVE_ALGO and\n"
      "RAILWEAVE_SCHEDULE, which the NCCL plugin ignores) or the process cannot be asked; 64 for wrong usage.");
  const auto options = std::make_shared<Options>();
  command->add_option("--pid", options->pid, "show rails, lanes and pending requests of this process")
      ->type_name("PID")
      ->check(CLI::Range(1, kPidMax));
  command->add_flag("--json", options->json, "print JSON");
  command->add_option("--stats-dir", options->stats_dir, kStatsDirHelp);
  command->callback([options, &status] { status = exit_status("info", run(*options)); });
}

}  // namespace railweave::commands
