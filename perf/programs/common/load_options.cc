#include "common/load_options.h"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "common/command_line.h"
#include "common/sizes.h"
#include "common/timed_commands.h"
#include "common/validators.h"

namespace railweave::perf {
namespace {

void add_load(CLI::App& app, LoadOptions& o) {
  const std::string group = "Load";
  app.add_option("--mode", o.mode, "throughput or pingpong")
      ->check(CLI::IsMember({"throughput", "pingpong"}))
      ->capture_default_str()
      ->group(group);
  app.add_flag("--both", o.both, "both ways at once, a connection each way")->group(group);
  app.add_option("--size", o.size_text, "bytes per message")->capture_default_str()->group(group);
  app.add_option("--sizes", o.sizes_text, "pingpong: message sizes")->capture_default_str()->group(group);
  app.add_option("--iterations", o.iterations, "pingpong: timed round trips per size")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str()
      ->group(group);
  app.add_option("--sleep-us", o.sleep_us, "sleep when a pass moved nothing; 0: only yield")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str()
      ->group(group);
}

void add_measuring(CLI::App& app, LoadOptions& o) {
  const std::string group = "Measuring";
  app.add_option("--duration", o.duration_s, "seconds of the timed block")
      ->check(number_between(1e-3, 1e6))
      ->capture_default_str()
      ->group(group);
  app.add_option("--warmup", o.warmup_s, "seconds before it")
      ->check(number_between(0, 1e6))
      ->capture_default_str()
      ->group(group);
  app.add_option("--begin-at", o.begin_at_s,
                 "send from that second of CLOCK_MONOTONIC on, connected before: several programs at once")
      ->check(number_between(0, 1e12))
      ->group(group);
  app.add_option("--bytes", o.bytes_text, "timed block of so many bytes per connection instead of a duration")
      ->group(group);
  app.add_option("--interval-ms", o.interval_ms, "bin of the time series")
      ->check(number_between(0.01, 1e6))
      ->capture_default_str()
      ->group(group);
  app.add_option("--baseline", o.baseline_s, "seconds to sleep first, to measure the machine's own load")
      ->check(number_between(0, 1e6))
      ->group(group);
  app.add_option("--at", o.at, "SECONDS:COMMAND, run by rank 0 that long after the timed block began")
      ->take_all()
      ->type_size(1)
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--progress", o.progress, "a line per second on stderr")->group(group);
  app.add_option("--json", o.json_path, "write the results there (rank 0)")->check(not_empty())->group(group);
}

}  // namespace

void add_load_options(CLI::App& app, LoadOptions& options) {
  add_load(app, options);
  add_measuring(app, options);
  add_rank_options(app, options.ranks);
}

Status LoadOptions::resolve_load() {
  RW_TRY(take("--size", parse_size(size_text), size));
  RW_TRY(take("--sizes", parse_sizes(sizes_text), sizes));
  RW_TRY(TimedCommands::parse(at));
  if (bytes_text.empty()) return {};
  RW_TRY(take("--bytes", parse_size(bytes_text), bytes));
  if (bytes > 0) return {};
  return Status(Code::invalid_argument, Scope::request, "--bytes: found '" + bytes_text + "', expected at least 1");
}

void LoadOptions::wait_to_begin() const {
  const Nanos rest = nanos(begin_at_s) - now().time_since_epoch();
  if (rest > Nanos(0)) std::this_thread::sleep_for(rest);
}

BlockPlan LoadOptions::block_plan() const {
  return BlockPlan{nanos(counted() ? 0 : warmup_s), nanos(counted() ? 0 : duration_s), nanos(interval_ms / 1e3)};
}

}  // namespace railweave::perf
