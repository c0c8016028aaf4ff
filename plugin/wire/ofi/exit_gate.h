// The exit of the process, as the endpoint threads see it. The library's own destructors run at the exit, and free what
// its functions use. So no endpoint thread calls the library from then on, and the exit waits for calls under way.
//
// Lifetime: that of the process. Fork: in a child nothing waits, since the threads do not exist there.
// Threads: any.
#pragma once

#include "base/mutex.h"
#include "base/process_origin.h"
#include "railweave/units.h"

namespace railweave::wire::ofi {

class ExitGate {
 public:
  // The longest time that the exit waits. A call that blocks for longer is taken to wait in the kernel.
  static constexpr Nanos kPatience = std::chrono::milliseconds(200);

  explicit ExitGate(Nanos patience = kPatience) : patience_(patience) {}
  // The one gate of the process; the first call makes the exit use the gate.
  static ExitGate& of_process();

  // Begins a call of the library. False: the process exits, don't call.
  bool enter() RW_EXCLUDES(mutex_);
  void leave() RW_EXCLUDES(mutex_);
  // The process exits: lets nobody enter, and waits for those inside, at most the patience.
  void close() RW_EXCLUDES(mutex_);

 private:
  const Nanos patience_;
  const ProcessOrigin origin_;
  Mutex mutex_;
  ConditionVariable left_;
  int inside_ RW_GUARDED_BY(mutex_) = 0;
  bool closed_ RW_GUARDED_BY(mutex_) = false;
};

}  // namespace railweave::wire::ofi
