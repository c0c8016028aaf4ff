// `railweave path`: where the NCCL plugin of this installation is.
#include "base/error.h"
#include "commands/commands.h"
#include "common/console.h"
#include "common/installed_files.h"

namespace railweave::commands {
namespace {

Status print_plugin() {
  RW_ASSIGN_OR_RETURN(const std::filesystem::path program, perf::own_program());
  RW_ASSIGN_OR_RETURN(const std::filesystem::path plugin, perf::plugin_of(program));
  perf::say("{}\n", plugin.string());
  return Status();
}

}  // namespace

void add_path(CLI::App& program, int& status) {
  program
      .add_subcommand("path",
                      "Prints the path of this installation's NCCL plugin. NCCL takes it as NCCL_NET_PLUGIN:\n"
                      "  export NCCL_NET_PLUGIN=$(railweave path)\n"
                      "Exit status: 0; 1 if the plugin is not beside this program; 64 for a wrong command line.")
      ->callback([&status] { status = exit_status("path", print_plugin()); });
}

}  // namespace railweave::commands
