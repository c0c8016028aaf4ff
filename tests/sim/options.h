// The options of the command line, set once by main().
#pragma once

#include <cstdint>
#include <string>

namespace railweave::sim {

struct Options {
  std::string program;  // for the command that replays a failure
  std::uint64_t first_seed = 1;
  std::uint64_t step = 1;
  std::uint64_t seeds_most = UINT64_MAX;
  std::uint64_t only_seed = 0;  // not 0: run this world only
  double hours = 0;             // not 0: run a day of so many virtual hours instead
  double seconds = 20;          // of real time, for all seeds
  bool trace = false;           // print what happens
};
Options& options();

}  // namespace railweave::sim
