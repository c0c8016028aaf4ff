// The settings of this process's environment, those of the collectives and of the Python package with them.
#pragma once

#include "railweave/config.h"
#include "railweave/status.h"

namespace railweave::commands {

// Threads: main, before another thread reads a Config. Errors: invalid_config (a variable's value is wrong).
Result<Config> settings_from_environment();

}  // namespace railweave::commands
