// An engine as these programs want it.
#pragma once

#include <memory>

#include "railweave/config.h"
#include "railweave/endpoint.h"

namespace railweave::perf::collective {

// By the environment; with shared memory unless it says no; `one_machine`: over loopback unless it names interfaces.
// Errors: invalid_config, also for what only a group would find wrong.
Result<Config> own_config(bool one_machine);

// By own_config(). Errors: what it or the engine said.
Result<std::shared_ptr<Engine>> start_engine(bool one_machine);

}  // namespace railweave::perf::collective
