// main() of a program with two ranks.
#pragma once

#include <exception>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "common/command_line.h"
#include "common/console.h"
#include "common/output_file.h"
#include "common/rank_pair.h"

namespace railweave::perf {

// Checks the request before anything runs. Checks --json only in the process of rank 0, which writes the results.
template <class Options>
Status check_request(Options& options, int argc, const char* const* argv) {
  RW_TRY(check_rank_words(std::span(argv, std::size_t(argc))));
  RW_TRY(options.resolve());
  const bool writes = !options.json_path.empty() && (options.ranks.local || options.ranks.rank == 0);
  return writes ? check_output_file(options.json_path) : Status();
}

// Parses the command line, connects the ranks and calls `run` with the control connection and the command line.
// `Options` has ranks, json_path and resolve(). If rank 1 serves several ranks 0, one thread for each calls `run`.
// Returns the exit status, 2 for an invalid command line. The reason of a failure is on stderr.
template <class Options>
int run_program(int argc, char** argv, const std::string& about, void (*add_options)(CLI::App&, Options&),
                Status (*run)(ControlConnection&, const Options&, const std::vector<std::string>& command)) {
  occupy_standard_streams();
  Options options;
  const auto add = [&](CLI::App& app) { add_options(app, options); };
  if (const auto exit_status = parse_command_line(about, add, argc, argv)) return *exit_status;
  if (const Status status = check_request(options, argc, argv); !status.ok()) {
    say(stderr, "{}\n", status.message());
    return 2;
  }
  const std::vector<std::string> command(argv, argv + argc);
  try {
    const auto body = [&](ControlConnection& control) { return run(control, options, command); };
    return status_of_output(run_rank(options.ranks, body));
  } catch (const std::exception& e) {  // out of memory, mostly
    say(stderr, "ended by {}\n", e.what());
    return 1;
  }
}

}  // namespace railweave::perf
