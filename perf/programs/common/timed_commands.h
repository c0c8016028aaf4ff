// Runs commands in the middle of a timed block (--at 2.5:"tc qdisc change ...") without holding up the load.
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
  // Each text is "SECONDS:COMMAND". Errors: invalid_argument.
  static Result<TimedCommands> parse(const std::vector<std::string>& texts);

  // Starts the commands that are due (by /bin/sh -c). Never waits.
  void tick(Nanos since_block_began);
  // Waits for the commands that run. Returns [{"t_s", "command", "exit"}]; exit is -1 if killed or not started.
  nlohmann::json finish();

 private:
  struct Command {
    Nanos due;
    std::string text;
    pid_t child = 0;  // 0: not started; -1: could not be started
    Nanos started{0};
  };
  std::vector<Command> commands_;  // earliest first
  std::size_t next_ = 0;
};

}  // namespace railweave::perf
