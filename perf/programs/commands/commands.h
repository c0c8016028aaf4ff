// The subcommands of the program `railweave`. Each add_...() adds one subcommand to `program`. CLI11 runs the
// subcommand while it parses the command line. The subcommand prints, and leaves its exit status in `status`: 0, or 1
// after an error, which it has printed to stderr. Lifetime: `status` outlives `program`. Threads: main.
#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

#include "railweave/status.h"

namespace railweave::commands {

void add_deploy(CLI::App& program);  // a request that cannot be rendered is a wrong command line
void add_explain(CLI::App& program, int& status);
void add_info(CLI::App& program, int& status);
void add_path(CLI::App& program, int& status);
void add_top(CLI::App& program, int& status);

// Returns the exit status of subcommand `name` after `outcome`; prints an error to stderr, behind all of stdout.
int exit_status(std::string_view name, const Status& outcome);

}  // namespace railweave::commands
