// Virtual time: events in order of time, and those of one moment in the order in which they were scheduled.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

#include "railweave/units.h"

namespace railweave::perf::fsdp_replay {

class EventHandler {
 public:
  virtual void happen(std::uint32_t what, std::size_t which) = 0;

 protected:
  ~EventHandler() = default;
};

class EventQueue {
 public:
  TimePoint now() const { return now_; }
  // `handler` must outlive the queue. REQUIRES: delay >= 0.
  void after(Nanos delay, EventHandler& handler, std::uint32_t what, std::size_t which) {
    assert(delay >= Nanos(0));
    events_.push({now_ + delay, ++planned_, &handler, which, what});
  }
  // Runs the next event. Returns false if none is left.
  bool step() {
    if (events_.empty()) return false;
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    event.handler->happen(event.what, event.which);
    return true;
  }

 private:
  struct Event {
    TimePoint at;
    std::uint64_t order;
    EventHandler* handler;
    std::size_t which;
    std::uint32_t what;
    bool operator<(const Event& other) const {  // the next event is the greatest
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  std::priority_queue<Event> events_;
  std::uint64_t planned_ = 0;
  TimePoint now_{};
};

}  // namespace railweave::perf::fsdp_replay
