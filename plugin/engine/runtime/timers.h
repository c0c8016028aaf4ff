// Timers of one engine: the reactor's, or those of a simulated process (tests/sim).
//
// One thread calls at() and cancel(), and runs the tasks. A task never runs from within at().
#pragma once

#include <cstdint>
#include <functional>

#include "railweave/units.h"

namespace railweave::engine {

class Timers {
 public:
  using TimerId = std::uint64_t;  // 0: none
  // `when`: by the clock of the engine whose timers they are. A time that has passed means: soon.
  virtual TimerId at(TimePoint when, std::function<void()> task) = 0;
  // The task will not run. No effect where it ran already.
  virtual void cancel(TimerId timer) = 0;

 protected:
  ~Timers() = default;
};

}  // namespace railweave::engine
