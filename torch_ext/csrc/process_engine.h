// The engine that all backends of a process share.
#pragma once

#include <memory>

#include "railweave/endpoint.h"

namespace railweave::torch_ext {

// Made with the first backend by the environment's RAILWEAVE_*, over shared memory within a host unless it says no;
// gone with the last. A process without any other interface takes the loopback. A forked child gets one of its own.
// Threads: any. Errors: what the configuration or the engine said.
Result<std::shared_ptr<Engine>> process_engine();

}  // namespace railweave::torch_ext
