// Starts the library's own threads in the application's process. Threads: any.
#pragma once

#include <functional>
#include <thread>

#include "railweave/status.h"

namespace railweave {

// Starts `body` on `thread`, which must not be running. Signals are blocked there, except those of the thread's own
// faults: signals are for the application's threads. `name`: at most 15 characters. Errors: exhausted (no thread
// available).
Status start_service_thread(std::thread& thread, const char* name, std::function<void()> body);

}  // namespace railweave
