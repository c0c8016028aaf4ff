#include "wire/ofi/exit_gate.h"

#include <cstdlib>

namespace railweave::wire::ofi {

// Functions of atexit() run before the destructors of libraries. The gate is never freed: threads may still ask.
ExitGate& ExitGate::of_process() {
  static auto* const gate = new ExitGate;
  static const int registered = std::atexit([] { gate->close(); });
  (void)registered;
  return *gate;
}

bool ExitGate::enter() {
  const MutexLock lock(mutex_);
  if (!closed_) ++inside_;
  return !closed_;
}

void ExitGate::leave() {
  const MutexLock lock(mutex_);
  --inside_;
  left_.notify_all();
}

void ExitGate::close() {
  if (origin_.in_child()) return;
  const MutexLock lock(mutex_);
  closed_ = true;
  left_.wait_for(mutex_, patience_, [&]() RW_REQUIRES(mutex_) { return inside_ == 0; });
}

}  // namespace railweave::wire::ofi
