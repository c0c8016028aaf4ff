// Commands to run in the middle of a timed block (--at 2.5:"tc qdisc change ..."), without holding up the load.
#pragma once

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::perf {

class TimedCommands {
 public:
  // Each "SECONDS:COMMAND". Errors: invalid_argument.
  static Result<TimedCommands> parse(const std::vector<std::string>& texts);

  // Starts (by /bin/sh -c) those that are due; never waits.
  void tick(Nanos since_block_began);
  // Waits for those that run. [{"t_s", "command", "exit"}], exit -1 when killed or not started.
  nlohmann::json finish();

 private:
  struct Command {
    Nanos due;
    std::string text;
    pid_t child = 0;  // 0: not started
    Nanos started{0};
  };
  std::vector<Command> commands_;  // earliest first
  std::size_t next_ = 0;
};

}  // namespace railweave::perf
