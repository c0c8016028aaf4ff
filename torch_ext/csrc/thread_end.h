// The end of an object that has a thread of its own. The object may be destroyed on that thread: an operation that ends
// there can drop the last reference to a backend.
#pragma once

#include <memory>
#include <thread>

#include "base/mutex.h"
#include "base/process_origin.h"

namespace railweave::torch_ext {

// Call this function at the latest in the object's destructor. The object and the thread share `state`, whose members
// are `mutex`, `changed` (a ConditionVariable), `over` (the thread ends once it is true) and `thread`. Joins the
// thread, or detaches it if called on it. Further calls do nothing. In a forked child, which lacks the thread, leaks
// `state`: destroying the condition variable would wait for the thread.
template <class State>
void end_thread(const ProcessOrigin& origin, const std::shared_ptr<State>& state) {
  if (origin.in_child()) {
    new std::shared_ptr<State>(state);
    return;
  }
  std::thread thread;
  {
    const MutexLock lock(state->mutex);
    state->over = true;
    thread = std::move(state->thread);
  }
  state->changed.notify_all();
  if (!thread.joinable()) return;
  thread.get_id() == std::this_thread::get_id() ? thread.detach() : thread.join();
}

}  // namespace railweave::torch_ext
