// EndTimers: the timers of a simulated process, in virtual time and by the clock of its host. They stand in for the
// reactor's timers. No timer fires once the process is dead.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "engine/runtime/timers.h"
#include "tests/sim/session_end.h"
#include "wire/sim/network.h"

namespace railweave::sim {

class EndTimers final : public engine::Timers {
 public:
  EndTimers(wire::SimNetwork& net, SessionEnd& end) : net_(net), end_(end) {}
  ~EndTimers() { *alive_ = false; }
  EndTimers(const EndTimers&) = delete;
  EndTimers& operator=(const EndTimers&) = delete;

  std::function<void()> after_task;

  TimerId at(TimePoint when, std::function<void()> task) override;
  void cancel(TimerId timer) override { set_.erase(timer); }

 private:
  wire::SimNetwork& net_;
  SessionEnd& end_;
  TimerId last_ = 0;
  std::set<TimerId> set_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace railweave::sim
