// The engine of the collective programs.
#pragma once

#include <memory>

#include "railweave/config.h"
#include "railweave/endpoint.h"

namespace railweave::perf::collective {

// Reads the environment. Turns shared memory on unless the environment turns it off. With `one_machine`, uses loopback
// unless the environment names interfaces. Errors: invalid_config, including errors that only a group would detect.
Result<Config> own_config(bool one_machine);

// Starts an engine with own_config(). Errors: those of own_config() and of the engine.
Result<std::shared_ptr<Engine>> start_engine(bool one_machine);

}  // namespace railweave::perf::collective
