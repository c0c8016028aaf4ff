// Timers of one engine: the reactor's, or those of a simulated process (tests/sim).
//
// Threads: one thread calls at() and cancel(), and runs the tasks. A task never runs from within at().
#pragma once

#include <cstdint>
#include <functional>

#include "railweave/units.h"

namespace railweave::engine {

class Timers {
 public:
  using TimerId = std::uint64_t;  // 0: none
  // Runs `task` once, at `when` or soon after. `when`: by the engine's clock; a time in the past means soon.
  virtual TimerId at(TimePoint when, std::function<void()> task) = 0;
  // The task will not run. No effect if the task ran already.
  virtual void cancel(TimerId timer) = 0;

 protected:
  ~Timers() = default;
};

}  // namespace railweave::engine
