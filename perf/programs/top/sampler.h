// Asks the processes with an engine again and again, and compares each answer with the one before.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "info/process_finder.h"
#include "railweave/units.h"
#include "top/rail_rates.h"

namespace railweave::top {

// One engine since the sample before.
struct EngineView {
  info::RunningEngine engine;
  std::string no_answer;        // why the engine did not answer; empty: it did, and the fields below count
  std::vector<RailRate> rails;  // all rates are 0 in an engine's first sample
  std::size_t sessions = 0;
  std::uint64_t pending = 0;    // sends and receives that are not done
  Nanos oldest_request_age{0};  // 0: nothing is pending
  Nanos since{0};               // the sample before; 0 in the first one
};

// Threads: one.
class Sampler {
 public:
  // `dir`: the folder of statistics sockets. `pid`: 0 for all processes that this user may ask.
  Sampler(std::string dir, pid_t pid) : dir_(std::move(dir)), pid_(pid) {}

  // Asks each engine once, for 200 ms at most. Returns the engines by pid; none if no process matches.
  std::vector<EngineView> sample();

 private:
  struct Past {
    EngineStats stats;
    TimePoint at;
  };
  EngineView view_of(const info::RunningEngine& engine);

  const std::string dir_;
  const pid_t pid_;
  std::map<std::string, Past> past_, present_;  // by the socket's path
};

}  // namespace railweave::top
