// main() of a program of two ranks.
#pragma once

#include <CLI/CLI.hpp>

#include <errno.h>

#include <exception>
#include <string>
#include <vector>

#include "common/console.h"
#include "common/rank_pair.h"

namespace railweave::perf {

// `Options` are LoadOptions with a resolve(). `run` gets the control connection and the command line. Returns the exit
// status, 2 for a bad command line; what is wrong is on stderr.
template <class Options>
int run_program(int argc, char** argv, const std::string& about, void (*add_options)(CLI::App&, Options&),
                Status (*run)(Rendezvous&, const Options&, const std::vector<std::string>& command)) {
  CLI::App app{about, ::program_invocation_short_name};
  Options options;
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (const Status status = options.resolve(); !status.ok()) {
    say(stderr, "{}\n", status.message());
    return 2;
  }
  const std::vector<std::string> command(argv, argv + argc);
  try {
    const auto body = [&](Rendezvous& rendezvous) { return run(rendezvous, options, command); };
    return status_of_output(run_rank(options.ranks, body));
  } catch (const std::exception& e) {  // out of memory, mostly
    say(stderr, "ended by {}\n", e.what());
    return 1;
  }
}

}  // namespace railweave::perf
