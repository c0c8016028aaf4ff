// copy_bound: how fast two processes of a machine can copy the same number of bytes at the same time. A bound for
// collectives among ranks of one host, which copy every byte at least once.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "common/console.h"
#include "common/pages.h"
#include "common/program.h"
#include "common/report.h"
#include "common/sizes.h"
#include "common/validators.h"

namespace railweave::perf {
namespace {

using nlohmann::json;

struct Options {
  RankOptions ranks;
  std::string range_text = "1K..256M", json_path;
  double block_s = 0.2;  // approximate time for one size
  SizeRange range;

  Status resolve() {
    RW_ASSIGN_OR_RETURN(range, parse_size_range(range_text));
    if (range.smallest > 0) return {};
    return Status(Code::invalid_argument, Scope::request, "--range: the smallest is at least 1");
  }
};

void add_options(CLI::App& app, Options& o) {
  app.add_option("--range", o.range_text, "bytes; every power of two times the smallest")->capture_default_str();
  app.add_option("--block", o.block_s, "seconds of copying, about, at each size")
      ->check(number_between(0.001, 60))
      ->capture_default_str();
  app.add_option("--json", o.json_path, "write what was measured there")->check(not_empty());
  add_rank_options(app, o.ranks);
}

double copy_s(const Pages& from, const Pages& to, std::size_t bytes, std::size_t times) {
  const TimePoint start = now();
  for (std::size_t i = 0; i < times; ++i) {
    std::memcpy(to.span().data(), from.span().data(), bytes);
    asm volatile("" ::: "memory");  // keeps the compiler from dropping a copy that is never read
  }
  return std::chrono::duration<double>(now() - start).count() / double(times);
}

// Copies on both ranks at once, as often as rank 0 decides. Returns the mean of both ranks' times of one copy.
Result<double> measure(ControlConnection& control, const Options& options, std::size_t bytes) {
  RW_ASSIGN_OR_RETURN(const Pages from, Pages::allocate(bytes));
  RW_ASSIGN_OR_RETURN(const Pages to, Pages::allocate(bytes));
  const double once_s = std::max(copy_s(from, to, bytes, 2), 1e-9);
  auto times = std::size_t(options.block_s / once_s) + 1;
  RW_ASSIGN_OR_RETURN(const std::string other_times, control.exchange(std::to_string(times)));
  if (control.rank() != 0) times = std::stoull(other_times);
  RW_TRY(control.barrier());
  const double mine_s = copy_s(from, to, bytes, times);
  RW_ASSIGN_OR_RETURN(const std::string other_s, control.exchange(fmt::format("{:.17g}", mine_s)));
  return (mine_s + std::stod(other_s)) / 2;
}

Status run(ControlConnection& control, const Options& options, const std::vector<std::string>& command) {
  json document = new_document("copy_bound", "copy", command);
  if (control.rank() == 0) say("{:>12} {:>12} {:>10}   of each of two processes\n", "bytes", "us", "GB/s");
  for (std::size_t bytes = options.range.smallest; bytes <= options.range.largest; bytes *= 2) {
    RW_ASSIGN_OR_RETURN(const double seconds, measure(control, options, bytes));
    const double gb_per_s = double(bytes) / seconds / 1e9;
    document["results"].push_back({{"size", bytes}, {"time_us", seconds * 1e6}, {"gb_per_s", gb_per_s}});
    if (control.rank() == 0) say("{:>12} {:>12.2f} {:>10.3f}\n", bytes, seconds * 1e6, gb_per_s);
  }
  if (control.rank() == 0 && !options.json_path.empty()) RW_TRY(write_document(options.json_path, document));
  return control.barrier();
}

}  // namespace
}  // namespace railweave::perf

int main(int argc, char** argv) {
  using namespace railweave::perf;
  return run_program<Options>(argc, argv, "Two processes copy memory at once: the bound for collectives within a host.",
                              &add_options, &run);
}
