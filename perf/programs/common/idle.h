// The pause of a polling loop after a pass that moved nothing.
#pragma once

#include <sched.h>

#include <chrono>
#include <thread>

#include "common/timed_block.h"

namespace railweave::perf {

// Sleeps `sleep_us` microseconds; the kernel adds its timer slack, 50 us by default. With 0, yields the core to other
// threads, as NCCL's proxy does.
inline void idle(int sleep_us) {
  if (sleep_us > 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(sleep_us));
  } else {
    ::sched_yield();
  }
}

// Same, and counts the pass in `totals`.
inline void idle(int sleep_us, Totals& totals) {
  ++totals.idle_passes;
  totals.sleeps += sleep_us > 0;
  idle(sleep_us);
}

}  // namespace railweave::perf
