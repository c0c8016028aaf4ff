// What a test does on a running reactor's thread, and waits for.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <thread>

#include "base/clock.h"
#include "engine/runtime/reactor.h"

namespace railweave::engine {

// Returns when `act` has run there, after all that was queued before.
inline void on_reactor(Reactor& reactor, const std::function<void()>& act) {
  std::promise<void> done;
  reactor.run_soon([&] { act(), done.set_value(); });
  done.get_future().wait();
}

// Asks `condition` there until it holds; false after 20 s.
inline bool eventually_on(Reactor& reactor, const std::function<bool()>& condition) {
  for (const TimePoint end = now() + std::chrono::seconds(20);;
       std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    bool holds = false;
    on_reactor(reactor, [&] { holds = condition(); });
    if (holds || now() >= end) return holds;
  }
}

}  // namespace railweave::engine
