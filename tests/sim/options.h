// What the command line asked for. Set once by main().
#pragma once

#include <cstdint>
#include <string>

namespace railweave::sim {

struct Options {
  std::string program;  // to run again
  std::uint64_t first_seed = 1;
  std::uint64_t step = 1;
  std::uint64_t seeds_most = UINT64_MAX;
  std::uint64_t only_seed = 0;  // not 0: this world and no other
  double hours = 0;             // not 0: a day of so many, and no other world
  double seconds = 20;          // of real time, over all tests
  bool trace = false;           // say what happens
};
Options& options();

}  // namespace railweave::sim
