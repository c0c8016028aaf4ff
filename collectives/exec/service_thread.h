// Starts the library's own threads in the application's process.
#pragma once

#include <functional>
#include <thread>

#include "railweave/status.h"

namespace railweave::collectives {

// Starts `body` on `thread`, which must not be running. All signals are blocked there: signals are for the
// application's threads. `name`: at most 15 characters. Errors: exhausted (no thread available).
Status start_service_thread(std::thread& thread, const char* name, std::function<void()> body);

}  // namespace railweave::collectives
