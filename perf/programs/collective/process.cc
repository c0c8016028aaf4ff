#include "collective/process.h"

#include <fmt/core.h>

#include <thread>

#include "base/error.h"
#include "base/process_limits.h"
#include "collective/open_row.h"
#include "collective/own_engine.h"
#include "collective/rank.h"
#include "collective/reporter.h"
#include "common/console.h"
#include "railweave/log.h"

namespace railweave::perf::collective {
namespace {

// Runs the ranks of this process, each on a thread; the first on this one.
int run_process(const Operation& operation, const Options& options, const Place& place,
                const std::vector<std::string>& command) {
  if (const Status status = check_request(operation, options, place.processes * options.ranks_here()); !status.ok()) {
    if (place.process == 0) say_error(status.message());
    return 2;
  }
  std::vector<int> exit_statuses(std::size_t(options.ranks_here()), 1);
  const auto run = [&](int thread) {
    const int rank = place.process * options.ranks_here() + thread;
    try {
      auto summary = run_rank(operation, options, place, thread, command);
      if (summary.ok()) {
        exit_statuses[std::size_t(thread)] = summary->good() ? 0 : 1;
      } else {
        say_error(fmt::format("rank {}: {}", rank, summary.status().message()));
      }
    } catch (const std::exception& e) {  // out of memory, mostly; an exception must not end a thread
      say_error(fmt::format("rank {}: ended by {}", rank, e.what()));
    }
  };
  std::vector<std::thread> threads(std::size_t(options.ranks_here()));  // index 0 stays empty: rank 0 runs on this
                                                                        // thread
  std::string missing;
  for (int thread = 1; thread < options.ranks_here() && missing.empty(); ++thread) {
    try {
      threads[std::size_t(thread)] = std::thread(run, thread);
    } catch (const std::system_error& e) {  // ranks that run already give up when their patience ends
      missing = fmt::format("rank {}: {}", place.process * options.ranks_here() + thread, no_thread(e).message());
      say_error(missing);
    }
  }
  if (missing.empty()) run(0);
  for (auto& thread : threads)
    if (thread.joinable()) thread.join();
  int worst = 0;
  for (const int exit_status : exit_statuses) worst = std::max(worst, exit_status);
  return worst;
}

// Checks that a process can make without the others.
Status check_alone(const Operation& operation, const Options& options) {
  RW_TRY(own_config(true));
  const int processes = processes_here(options.launch);
  if (processes > 0 || options.launch.rank == 0) RW_TRY(check_json_path(options.json_path));
  return processes > 0 ? check_request(operation, options, processes * options.ranks_here()) : Status();
}

}  // namespace

int run_program(const Operation& operation, int argc, char** argv) {
  occupy_standard_streams();
  set_log_sink(show_warnings);
  int exit_status = 0;
  const std::string about = fmt::format(
      "Times {} on memory of the host, over Railweave, with nccl-tests' options and output.", operation.name);
  const auto options = parse_options(argc, argv, about, exit_status);
  if (!options) return exit_status;
  const std::vector<std::string> command(argv, argv + argc);
  // Runs before the ranks connect: if one fails here, the others would wait for it.
  if (const Status status = check_alone(operation, *options); !status.ok()) {
    say_error(status.message());
    return status.code() == Code::invalid_config ? 1 : 2;
  }
  try {
    const auto body = [&](const Place& place) { return run_process(operation, *options, place, command); };
    return status_of_output(run_launched(options->launch, body));
  } catch (const std::exception& e) {  // out of memory, mostly
    say_error(fmt::format("ended by {}", e.what()));
    return 1;
  }
}

}  // namespace railweave::perf::collective
