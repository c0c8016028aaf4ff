#include "collective/options.h"

#include <errno.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <limits>

#include "base/error.h"
#include "collective/byte_count.h"
#include "common/command_line.h"
#include "common/console.h"
#include "common/validators.h"

namespace railweave::perf::collective {
namespace {

constexpr std::string_view kLaunching = R"(
How ranks find each other (each process has -t times -g ranks):
  mpirun -n 4 PROGRAM ...      by Open MPI, where it was built with it
  torchrun, tools/lab run       by RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT
  PROGRAM --local 4 ...        forks 4 processes on this machine
  PROGRAM ...                  alone
With --local, and alone, the loopback interface is used unless NCCL_SOCKET_IFNAME or RAILWEAVE_RAILS says otherwise.
Exit status: 0; 1 when results were wrong, bandwidth was under NCCL_TESTS_MIN_BW, or a rank failed;
2 for a bad command line.)";

constexpr int kRanksMax = 1 << 14, kRanksHereMax = 1024;

// Options as they come from the command line.
struct Texts {
  std::string min_bytes = "32M", max_bytes = "32M", step_bytes = "1M", step_factor = "1";
  std::string operations = "sum", types = "float", root = "0";
};

// Options of nccl-tests without a meaning for host memory. Their value must be the default.
struct Meaningless {
  const char* names;
  int standard;
  const char* about;
  int value = standard;
};

void add_sizes(CLI::App& app, Options& o, Texts& texts) {
  const std::string group = "Sizes";
  app.add_option("-b,--minbytes", texts.min_bytes, "smallest size")->capture_default_str()->group(group);
  app.add_option("-e,--maxbytes", texts.max_bytes, "largest size")->capture_default_str()->group(group);
  app.add_option("-i,--stepbytes", texts.step_bytes, "from a size to the next")->capture_default_str()->group(group);
  app.add_option("-f,--stepfactor", texts.step_factor, "the same, as a factor; above 1 it counts instead")
      ->group(group);
  app.add_option("-d,--datatype", texts.types, type_names())->capture_default_str()->group(group);
  app.add_option("-o,--op", texts.operations, reduction_names())->capture_default_str()->group(group);
  app.add_option("-r,--root", texts.root, "a rank, or all (or -1)")->capture_default_str()->group(group);
  app.add_option("-u,--unalign", o.unalign, "elements before the first")->check(CLI::Range(0, 4096))->group(group);
}

void add_running(CLI::App& app, Options& o) {
  const std::string group = "Running";
  const auto number = [&](const char* names, int& value, const char* about, int least, int most = 1 << 30) {
    app.add_option(names, value, about)->check(CLI::Range(least, most))->capture_default_str()->group(group);
  };
  number("-t,--nthreads", o.threads, "threads of a process, each a rank", 1, 1024);
  number("-g,--ngpus", o.gpus, "ranks of a thread (a thread of its own each)", 1, 1024);
  number("-n,--iters", o.iterations, "iterations that are timed", 1);
  number("-w,--warmup_iters", o.warmup, "iterations of every power of two before them", 0);
  number("-m,--agg_iters", o.aggregated, "operations issued together in an iteration", 1);
  number("-N,--run_cycles", o.cycles, "how often to do it all; 0: for ever", 0);
  number("-p,--parallel_init", o.parallel_init, "threads meet at once (they always do)", 0, 1);
  number("-c,--check", o.checks, "how often to check results", 0);
  number("-z,--blocking", o.blocking, "1: a barrier after each operation (each is waited for anyway)", 0, 3);
  number("-T,--timeout", o.timeout_s, "seconds that an operation may take; 0: any time", 0);
}

void add_reporting(CLI::App& app, Options& o) {
  const std::string group = "Reporting";
  app.add_option("-a,--average", o.average, "time of 0: rank 0, 1: mean, 2: least, 3: greatest of all ranks")
      ->check(CLI::Range(0, 3))
      ->capture_default_str()
      ->group(group);
  app.add_option("-C,--report_cputime", o.cpu_time, "1: time of issuing alone")->check(CLI::Range(0, 1))->group(group);
  app.add_option("-S,--report_timestamps", o.timestamps, "1: when each row was done")
      ->check(CLI::Range(0, 1))
      ->group(group);
  app.add_option("-I,--per_iter_timing", o.per_iteration, "1: least, greatest, 99th percentile of iterations")
      ->check(CLI::Range(0, 1))
      ->group(group);
  app.add_option("-K,--per_iter_skip", o.skipped, "iterations left out of that")
      ->check(CLI::Range(0, 1 << 30))
      ->group(group);
  app.add_option("-J,--output_file,--json", o.json_path, "results as JSON")->check(not_empty())->group(group);
  app.add_option("--min-bandwidth", o.min_bandwidth, "fail below 0.9 times this, GB/s")
      ->check(number_between(-1, 1e9))
      ->envname("NCCL_TESTS_MIN_BW")
      ->group(group);
}

constexpr std::string_view kToldByLaunchers[] = {"--rank",        "--world-size",  "--local-rank",
                                                 "--master-addr", "--master-port", "--agent-store"};

void add_launching(CLI::App& app, LaunchOptions& o) {
  const std::string group = "Ranks";
  app.add_option("--local", o.local, "fork as many processes on this machine")
      ->check(CLI::Range(1, 1024))
      ->group(group);
  app.add_option("--rank", o.rank, "of this process")->envname("RANK")->check(CLI::Range(0, kRanksMax))->group(group);
  app.add_option("--world-size", o.world_size, "number of processes")
      ->envname("WORLD_SIZE")
      ->check(CLI::Range(1, kRanksMax))
      ->group(group);
  app.add_option("--local-rank", o.local_rank, "of this process on its host")
      ->envname("LOCAL_RANK")
      ->check(CLI::Range(0, kRanksMax))
      ->group(group);
  app.add_option("--master-addr", o.master_address, "where rank 0 listens")->envname("MASTER_ADDR")->group(group);
  app.add_option("--master-port", o.master_port, "its port")
      ->envname("MASTER_PORT")
      ->check(CLI::Range(1, 65535))
      ->group(group);
  app.add_option("--agent-store", o.agent_store, "the launcher keeps that port for itself: ranks meet two ports higher")
      ->envname("TORCHELASTIC_USE_AGENT_STORE")
      ->group(group);
  app.add_option("--patience", o.patience_s, "seconds to wait for the other ranks")
      ->check(number_between(0, 3600))
      ->capture_default_str()
      ->group(group);
}

void add_meaningless(CLI::App& app, std::vector<Meaningless>& table) {
  for (auto& entry : table) {
    app.add_option(entry.names, entry.value, entry.about)->group("Without meaning on host memory: only the default");
  }
}

std::vector<Meaningless> meaningless() {
  return {{"-y,--stream_null", 0, "0"},
          {"-G,--cudagraph", 0, "0"},
          {"-R,--local_register", 0, "0"},
          {"-x,--cta_policy", 0, "0"},
          {"-D,--device_implementation", 0, "0"},
          {"-V,--device_cta_count", 16, "16"},
          {"-M,--memory", 0, "0"}};
}

Status refuse(std::string_view option, const std::string& why) {
  return Status(Code::invalid_argument, Scope::request, fmt::format("{}: {}", option, why));
}

Status parse_root(const std::string& text, int& root) {
  root = -1;
  if (text == "all" || text == "-1") return {};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), root);
  if (error == std::errc() && *rest == 0 && root >= 0) return {};
  return refuse("--root", "found '" + text + "', expected a rank (0 and up) or all");
}

Status finish(Options& o, const Texts& texts) {
  RW_TRY(take("--minbytes", parse_byte_count(texts.min_bytes), o.min_bytes));
  RW_TRY(take("--maxbytes", parse_byte_count(texts.max_bytes), o.max_bytes));
  RW_TRY(take("--stepbytes", parse_byte_count(texts.step_bytes), o.step_bytes));
  RW_TRY(take("--stepfactor", parse_byte_count(texts.step_factor), o.step_factor));
  RW_TRY(take("--datatype", types_named(texts.types), o.types));
  RW_TRY(take("--op", reductions_named(texts.operations), o.reductions));
  RW_TRY(parse_root(texts.root, o.root));
  if (o.ranks_here() > kRanksHereMax) {
    return refuse("--nthreads times --ngpus",
                  fmt::format("expected at most {} ranks of a process, found {}", kRanksHereMax, o.ranks_here()));
  }
  if (o.min_bytes > o.max_bytes) {
    return refuse("--minbytes", fmt::format("{} is more than --maxbytes {}", o.min_bytes, o.max_bytes));
  }
  if (o.step_factor <= 1 && o.step_bytes == 0 && o.min_bytes < o.max_bytes) {
    return refuse("--stepbytes", "0 would never end");
  }
  return {};
}

int refused(const Status& status) {
  say(stderr, "{}\n", status.message());
  return 2;
}

}  // namespace

std::size_t Options::after(std::size_t bytes) const {
  if (step_factor > 1 && bytes > std::numeric_limits<std::size_t>::max() / step_factor)
    return std::numeric_limits<std::size_t>::max();
  if (step_factor > 1) return bytes == 0 ? 1 : bytes * step_factor;
  return bytes + step_bytes;
}

std::optional<Options> parse_options(int argc, char** argv, std::string_view about, int& exit_status) {
  CLI::App app{std::string(about), ::program_invocation_short_name};
  app.footer(std::string(kLaunching));
  Options options;
  Texts texts;
  std::vector<Meaningless> fixed = meaningless();
  add_sizes(app, options, texts);
  add_running(app, options);
  add_reporting(app, options);
  add_launching(app, options.launch);
  add_meaningless(app, fixed);
  if (const auto ended = parse_command_line(app, argc, argv)) {
    exit_status = *ended;
    return std::nullopt;
  }
  Status status = check_not_beside("--local", kToldByLaunchers, std::span<const char* const>(argv, std::size_t(argc)));
  if (status.ok()) status = finish(options, texts);
  for (const auto& entry : fixed) {
    if (status.ok() && entry.value != entry.standard) {
      status = refuse(entry.names, fmt::format("{} has no meaning on host memory; only {} does nothing", entry.value,
                                               entry.standard));
    }
  }
  if (!status.ok()) {
    exit_status = refused(status);
    return std::nullopt;
  }
  return options;
}

}  // namespace railweave::perf::collective
