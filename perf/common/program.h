// main() of a program of two ranks.
#pragma once

#include <fmt/core.h>

#include <exception>
#include <string>
#include <vector>

#include "common/rank_pair.h"

namespace railweave::perf {

// `Options` are LoadOptions with a resolve(). `run` gets the control connection and the command line. Returns the exit
// status; what is wrong is on stderr.
template <class Options>
int run_program(int argc, char** argv, const std::string& about, void (*add_options)(CLI::App&, Options&),
                Status (*run)(Rendezvous&, const Options&, const std::vector<std::string>& command)) {
  CLI::App app{about};
  Options options;
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  if (const Status status = options.resolve(); !status.ok()) {
    fmt::print(stderr, "{}\n", status.message());
    return 1;
  }
  const std::vector<std::string> command(argv, argv + argc);
  try {
    return run_rank(options.ranks, [&](Rendezvous& rendezvous) { return run(rendezvous, options, command); });
  } catch (const std::exception& e) {  // out of memory, mostly
    fmt::print(stderr, "ended by {}\n", e.what());
    return 1;
  }
}

}  // namespace railweave::perf
