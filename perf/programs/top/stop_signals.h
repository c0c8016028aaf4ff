// Waits that SIGINT and SIGTERM end early.
#pragma once

#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "railweave/units.h"

namespace railweave::top {

// Blocks SIGINT and SIGTERM in the calling thread, so that wait() receives them; the destructor restores the mask.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals_, &before_);
  }
  ~StopSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Returns false if a signal came before `time` was over.
  bool wait(Nanos time) const {
    const TimePoint end = now() + time;
    for (Nanos left = time; left.count() > 0; left = end - now()) {
      const timespec span{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
      if (sigtimedwait(&signals_, nullptr, &span) >= 0) return false;
    }
    return true;
  }

 private:
  sigset_t signals_, before_;
};

}  // namespace railweave::top
