#include "tests/sim/end_timers.h"

#include <utility>

namespace railweave::sim {
namespace {

constexpr Nanos kRounding = std::chrono::microseconds(1);  // covers the rounding of clock speeds: no timer is early

}  // namespace

engine::Timers::TimerId EndTimers::at(TimePoint when, std::function<void()> task) {
  const TimerId timer = ++last_;
  set_.insert(timer);
  net_.at(end_.host().clock.world(when) + kRounding, [this, timer, task = std::move(task), alive = alive_] {
    if (!*alive || end_.is_dead() || set_.erase(timer) == 0) return;
    task();
    if (*alive && after_task) after_task();
  });
  return timer;
}

}  // namespace railweave::sim
