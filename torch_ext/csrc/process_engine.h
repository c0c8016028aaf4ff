// The engine that all backends of a process share.
#pragma once

#include <memory>

#include "railweave/endpoint.h"

namespace railweave::torch_ext {

// Returns the engine. The first backend starts it with the environment's RAILWEAVE_*, and the engine ends with the last
// backend. Shared memory is on within a host unless the environment turns it off. A process without any other interface
// uses the loopback. A forked child gets an engine of its own.
// Threads: any. Errors: of the configuration or of the engine.
Result<std::shared_ptr<Engine>> process_engine();

}  // namespace railweave::torch_ext
