// Where a Future that somebody asked for is completed: what hangs on it is the user's, and may wait for another
// operation's Future, which nobody would complete if the thread that drives operations were the one that waits.
//
// Threads of the process (railweave-then): as many as are busy at once, each for some seconds after its last task.
#pragma once

#include <functional>

namespace railweave::torch_ext {

// Runs `task` on one of them, at once, whatever the others are at; on the caller's where there is no thread to be had.
// Any thread; the GIL is not needed. `task` must not throw.
void run_apart(std::function<void()> task);

// Waits until no task is left, for some seconds at most. Not within a task. The GIL must not be held.
void await_apart();

}  // namespace railweave::torch_ext
