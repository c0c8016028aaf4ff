#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "railweave/log.h"
#include "tests/sim/options.h"

namespace railweave::sim {

Options& options() {
  static Options the_options;
  return the_options;
}

}  // namespace railweave::sim

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);  // removes its own flags
  railweave::sim::Options& options = railweave::sim::options();
  options.program = argv[0];
  CLI::App app{"Hosts in virtual time, one world per seed; GoogleTest's flags work too"};
  app.add_option("--seed", options.only_seed, "run this world only");
  app.add_option("--first", options.first_seed, "the first seed")->capture_default_str();
  app.add_option("--step", options.step, "distance from one seed to the next, so that several processes can share them")
      ->capture_default_str();
  app.add_option("--seeds", options.seeds_most, "how many seeds at most");
  app.add_option("--seconds", options.seconds, "real time to spend on seeds")->capture_default_str();
  app.add_option("--hours", options.hours, "run a day of so many virtual hours instead");
  app.add_flag("--trace", options.trace, "print what happens, with virtual times");
  CLI11_PARSE(app, argc, argv);
  if (options.trace) railweave::set_log_sink(railweave::log_to_stderr);  // the engine's log lines about lanes
  if (GTEST_FLAG_GET(filter) == "*") GTEST_FLAG_SET(filter, options.hours > 0 ? "Day.*" : "Worlds.*");
  return RUN_ALL_TESTS();
}
