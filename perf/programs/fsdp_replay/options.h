// fsdp_replay's command line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/scheduler/window.h"
#include "fsdp_replay/limiter.h"
#include "fsdp_replay/replay.h"
#include "railweave/status.h"

namespace CLI {
class App;
}

namespace railweave::perf::fsdp_replay {

struct Options {
  std::vector<std::string> traces, models, policy_texts{"off"}, limiter_texts{"none"};
  std::vector<int> hosts{8};
  int random = 0;        // number of random traces
  double batch = 0;      // samples a device; 0: the model's own
  double wire_gbps = 0;  // 0: the parameter file's
  std::string mode_text = "auto", parameters_path = "perf/programs/fsdp_replay/parameters.json", json_path,
              written_trace;
  bool one_line = false, bound = false, published = false;

  // Parsed from the texts by resolve().
  std::vector<collectives::Policy> policies;
  std::vector<LimiterKind> limiters;
  std::optional<Mode> mode;  // none: chosen by the number of hosts

  // Errors: invalid_argument, naming the option.
  Status resolve();
};

void add_options(CLI::App& app, Options& options);

// Errors: invalid_argument when another option makes an option of `words` meaningless.
Status check_option_words(std::span<const char* const> words);

}  // namespace railweave::perf::fsdp_replay
