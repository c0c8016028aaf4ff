// The exit status of a subcommand, and its error on stderr.
#include <cstdio>

#include "commands/commands.h"
#include "common/console.h"
#include "info/text_table.h"

namespace railweave::commands {

int exit_status(std::string_view name, const Status& outcome) {
  if (outcome.ok()) return 0;
  std::fflush(stdout);
  perf::say(stderr, "railweave {}: {}\n", name, info::printable_lines(outcome.message()));
  return 1;
}

}  // namespace railweave::commands
