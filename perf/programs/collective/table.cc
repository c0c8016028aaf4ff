#include "collective/table.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <ctime>

#include "collective/fitted_number.h"

namespace railweave::perf::collective {
namespace {

constexpr int kTimeWidth = 7, kBandwidthWidth = 6;
constexpr std::string_view kVersion = "railweave-0.1.0";

// The five columns before the figures.
std::string left(std::string_view size, std::string_view count, std::string_view type, std::string_view reduction,
                 std::string_view root) {
  return fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", size, count, type, reduction, root);
}

std::string figures(std::string_view time, std::string_view algbw, std::string_view busbw, std::string_view wrong) {
  return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", time, algbw, busbw, wrong);
}

// The column of nccl-tests is one narrower where nothing was checked.
std::string unchecked_figures(std::string_view time, std::string_view algbw, std::string_view busbw) {
  return fmt::format("  {:>7}  {:>6}  {:>6}    N/A", time, algbw, busbw);
}

std::string iteration_columns(std::string_view min, std::string_view max, std::string_view p99,
                              std::string_view variation) {
  return fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", min, max, p99, variation);
}

std::string stamp_column(bool wanted, std::string_view text) {
  return wanted ? fmt::format(" {:>19}\n", text) : std::string(" \n");
}

}  // namespace

std::string banner_text(const Options& o, std::string_view program) {
  const bool by_factor = o.step_factor > 1;
  std::string text = fmt::format("# nccl-tests version {} nccl-headers=0 nccl-library=0\n", kVersion);
  text += fmt::format("# Collective test starting: {}\n", program);
  text += fmt::format(
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} agg iters: {} validation: "
      "{} graph: 0 unalign: {}\n",
      o.threads, o.gpus, o.min_bytes, o.max_bytes, by_factor ? o.step_factor : o.step_bytes,
      by_factor ? "factor" : "bytes", o.warmup, o.iterations, o.aggregated, o.checks, o.unalign);
  if (o.blocking == 1) text += "# Blocking Enabled: wait for completion and barrier after each collective \n";
  if (o.blocking > 1) text += "# Blocking Enabled: wait for completion after each collective (no barrier) \n";
  if (o.per_iteration) text += "# Per-Iteration Report: host clock timing; i_* uses max over ranks \n";
  if (o.parallel_init == 1) text += "# Parallel Init Enabled: threads call into NcclInitRank concurrently \n";
  return text + "#\n# Using devices\n";
}

std::string device_text(const DeviceEntry& e) {
  return fmt::format("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [{}] {}\n", e.rank, e.group, e.pid, e.host,
                     e.device, e.bus, e.name);
}

std::string header_text(const Options& o) {
  const std::string_view time = o.cpu_time ? "cputime" : "time";
  std::string names = figures(time, "algbw", "busbw", "#wrong"), units = figures("(us)", "(GB/s)", "(GB/s)", "");
  std::string text = "#\n" + left("", "", "", "", "");
  if (o.per_iteration) {
    names += iteration_columns("i_min", "i_max", "i_p99", "i_cv%");
    units += iteration_columns("(us)", "(us)", "(us)", "(%)");
    text += "              out-of-place (+ per-iteration)                                in-place (+ per-iteration)\n";
  } else {
    text += "           out-of-place                       in-place          \n";
  }
  text += left("size", "count", "type", "redop", "root") + names + names + stamp_column(o.timestamps, "timestamp");
  text += left("(B)", "(elements)", "", "", "") + units + units + stamp_column(o.timestamps, "%Y-%m-%d %H:%M:%S");
  return text;
}

std::string row_text(const Row& row) {
  return fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:>6}", row.bytes, row.count, row.type, row.reduction, row.root);
}

std::string measured_text(const Measured& m) {
  const std::string time = fitted_number(m.time_us, kTimeWidth), algbw = fitted_number(m.algbw, kBandwidthWidth),
                    busbw = fitted_number(m.busbw, kBandwidthWidth);
  std::string text = m.wrong ? figures(time, algbw, busbw, fmt::format("{:6g}", double(*m.wrong)))
                             : unchecked_figures(time, algbw, busbw);
  if (m.iterations) {
    const IterationTimes& it = *m.iterations;
    text += iteration_columns(fitted_number(it.min_us, kTimeWidth), fitted_number(it.max_us, kTimeWidth),
                              fitted_number(it.p99_us, kTimeWidth), fitted_number(it.variation_percent(), kTimeWidth));
  }
  return text;
}

std::string row_end_text(const Options& options, const std::string& now) {
  return options.timestamps ? fmt::format("{:>21}\n", now) : std::string("\n");
}

std::string footer_text(const Summary& s, std::string_view program) {
  const std::string_view verdict = s.min_bandwidth == -1 ? "" : s.slow() ? "FAILED" : "OK";
  return fmt::format("# {:<20} : {} {}\n# {:<20} : {:g} {}\n#\n# Collective test concluded: {}\n",
                     "Out of bounds values", s.failures, s.failures > 0 ? "FAILED" : "OK", "Avg bus bandwidth",
                     s.mean_busbw, verdict, program);
}

std::string time_text() { return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr))); }

}  // namespace railweave::perf::collective
