// A thread of ours in somebody else's process.
#pragma once

#include <functional>
#include <thread>

#include "railweave/status.h"

namespace railweave::collectives {

// Runs `body` on `thread`, with all signals blocked: they are for the application's threads. Errors: exhausted.
Status start_service_thread(std::thread& thread, const char* name, std::function<void()> body);

}  // namespace railweave::collectives
