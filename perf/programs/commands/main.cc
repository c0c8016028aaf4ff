// railweave: one program for the host, running processes and installed files. Its subcommands are in the other files of
// this folder.
#include <CLI/CLI.hpp>

#include "commands/commands.h"
#include "common/console.h"

namespace {

constexpr int kWrongUsage = 64;  // EX_USAGE of sysexits.h; 1 and 2 are answers of subcommands

}  // namespace

int main(int argc, char** argv) {
  using namespace railweave;
  perf::occupy_standard_streams();
  int status = 0;
  CLI::App program(
      "Plain Ethernet, all of it, for NCCL and torch.distributed.\n"
      "Exit status: 0; 1 after an error; 64 for a wrong command line. railweave COMMAND --help says more.",
      "railweave");
  program.set_version_flag("--version", "railweave " RAILWEAVE_VERSION);
  program.require_subcommand(1);
  commands::add_deploy(program);
  commands::add_info(program, status);
  commands::add_top(program, status);
  commands::add_path(program, status);
  commands::add_explain(program, status);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    status = program.exit(error) == 0 ? 0 : kWrongUsage;
  }
  return perf::status_of_output(status);
}
