// Completes Futures that the program asked for, on threads of their own. A Future's callback is the user's and may wait
// for another operation's Future. If the thread that drives operations ran the callback, that other Future would never
// complete.
//
// Threads of the process (railweave-then): as many as are busy at once; each stays for some seconds after its last
// task.
#pragma once

#include <functional>

namespace railweave::torch_ext {

// Runs `task` at once on one of these threads, even if all others are busy. Runs the task on the caller's thread if no
// thread can be started. Any thread; the GIL is not needed. `task` must not throw.
void run_on_future_thread(std::function<void()> task);

// Waits until no task is left, for some seconds at most. Must not be called within a task or with the GIL held.
void await_future_threads();

}  // namespace railweave::torch_ext
