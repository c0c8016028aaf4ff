// Runs functions of a test on a running reactor's thread, and waits for them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <thread>

#include "base/clock.h"
#include "engine/runtime/reactor.h"

namespace railweave::engine {

// Runs `act` on the reactor's thread, after everything that was queued before. Returns when `act` has run.
inline void on_reactor(Reactor& reactor, const std::function<void()>& act) {
  std::promise<void> done;
  reactor.run_soon([&] { act(), done.set_value(); });
  done.get_future().wait();
}

// Evaluates `condition` on the reactor's thread until it holds. Returns false after 20 s.
inline bool eventually_on(Reactor& reactor, const std::function<bool()>& condition) {
  for (const TimePoint end = now() + std::chrono::seconds(20);;
       std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    bool holds = false;
    on_reactor(reactor, [&] { holds = condition(); });
    if (holds || now() >= end) return holds;
  }
}

}  // namespace railweave::engine
