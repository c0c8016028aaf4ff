// `railweave top`: the traffic of running processes, live.
#include <fmt/format.h>

#include <ctime>
#include <memory>

#include "base/error.h"
#include "commands/commands.h"
#include "commands/process_options.h"
#include "commands/settings.h"
#include "common/validators.h"
#include "info/process_finder.h"
#include "top/frame.h"
#include "top/sampler.h"
#include "top/screen.h"
#include "top/stop_signals.h"

namespace railweave::commands {
namespace {

constexpr double kSecondsMin = 0.05, kSecondsMax = 86400;

struct Options {
  int pid = 0;  // 0: all
  bool json = false;
  double interval_s = 1;
  std::uint64_t frames = 0;  // 0: until a signal
  std::string stats_dir;     // empty: the configuration's
};

std::string title(const Options& options) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  char clock[16] = "";
  std::strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&now, &local));
  return fmt::format("railweave top   {}   every {} s, Ctrl-C ends", clock, options.interval_s);
}

// Shows frames until a signal, the last frame, or the end of stdout or of the process `options.pid`.
void show_frames(const Options& options, const std::string& dir) {
  const top::StopSignals stop;
  top::Sampler sampler(dir, options.pid);
  (void)sampler.sample();  // rates need an earlier sample
  const Nanos interval(static_cast<Nanos::rep>(options.interval_s * 1e9));
  const top::Screen screen(options.json);
  for (std::uint64_t shown = 0; options.frames == 0 || shown < options.frames; ++shown) {
    if (!stop.wait(interval)) return;
    const std::vector<top::EngineView> views = sampler.sample();
    if (options.pid != 0 && views.empty()) return;
    if (!screen.show(title(options), options.json ? top::frame_json(views) : top::frame_text(views))) return;
  }
}

Status run(const Options& options) {
  std::string dir = options.stats_dir;
  if (dir.empty()) {
    RW_ASSIGN_OR_RETURN(const Config config, settings_from_environment());
    dir = config.stats_dir;
  }
  if (options.pid != 0) RW_TRY(info::engines_of(dir, options.pid));
  show_frames(options, dir);
  return Status();
}

}  // namespace

void add_top(CLI::App& program, int& status) {
  CLI::App* const command = program.add_subcommand(
      "top",
      "Shows the traffic of each rail of the running processes, again every second. A terminal is redrawn; into a\n"
      "file or a pipe frames are printed one behind the other. With --pid the command ends with the process.\n"
      "Exit status: 0; 1 if the process cannot be asked or a setting is wrong; 64 for a wrong command line.");
  const auto options = std::make_shared<Options>();
  command->add_option("--pid", options->pid, "this process only")->type_name("PID")->check(CLI::Range(1, kPidMax));
  command->add_flag("--json", options->json, "print one JSON object for each frame, on one line");
  command->add_option("--interval", options->interval_s, "seconds between frames (1)")
      ->type_name("SECONDS")
      ->check(perf::number_between(kSecondsMin, kSecondsMax));
  command->add_option("--frames", options->frames, "end after so many frames (0: at Ctrl-C)")
      ->type_name("N")
      ->check(perf::whole_number());
  command->add_option("--stats-dir", options->stats_dir, kStatsDirHelp);
  command->callback([options, &status] { status = exit_status("top", run(*options)); });
}

}  // namespace railweave::commands
