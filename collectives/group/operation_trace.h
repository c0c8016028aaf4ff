// Records one operation in the process's trace: from its issue until its end, and the waits for the operation
// (docs/guide/trace.md).
//
// Threads: call issued() before another thread has the operation; live() and over() one at a time; Wait on any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/trace.h"
#include "collectives/group/fingerprint.h"
#include "collectives/scheduler/scheduler.h"
#include "railweave/endpoint.h"

namespace railweave::collectives {

// Records the most that the scheduler had live at once since the last record; none: no record.
inline void record_live(const std::optional<Scheduler::Live>& most) {
  if (!most) return;
  const std::int64_t t = trace::nanos_of(now());
  trace::add({.begin = t,
              .end = t,
              .what = 0,
              .bytes = most->bytes,
              .detail = most->operations,
              .whose = 0,
              .rail = 0,
              .priority = 0,
              .kind = trace::Kind::in_flight});
}

class OperationTrace {
 public:
  // Begins the record. Call while a trace is on. `group`: trace::number_of() the group's name. `bytes`: of the input or
  // the output, whichever is larger.
  void issued(Fingerprint what, std::uint32_t group, std::uint64_t bytes, Priority priority) {
    record_ = {.begin = trace::nanos_of(now()),
               .end = 0,
               .what = what,
               .bytes = bytes,
               .detail = 0,
               .whose = group,
               .rail = 0,
               .priority = std::uint8_t(priority),
               .kind = trace::Kind::operation};
  }
  // The operation may move bytes from now on. The first call counts.
  void live() {
    if (record_.begin != 0 && record_.detail == 0) record_.detail = std::uint64_t(trace::nanos_of(now()));
  }
  // Adds the record to the trace. Call once.
  void over() {
    if (record_.begin == 0) return;
    record_.end = trace::nanos_of(now());
    trace::add(record_);
  }

  // Records a wait for the operation, from construction to destruction.
  class Wait {
   public:
    explicit Wait(const OperationTrace& operation)
        : operation_(operation), begin_(trace::on() ? trace::nanos_of(now()) : 0) {}
    ~Wait() {
      if (begin_ == 0) return;
      const trace::Record& operation = operation_.record_;  // another thread may be writing its times
      trace::add({.begin = begin_,
                  .end = trace::nanos_of(now()),
                  .what = operation.what,
                  .bytes = operation.bytes,
                  .detail = 0,
                  .whose = operation.whose,
                  .rail = 0,
                  .priority = operation.priority,
                  .kind = trace::Kind::wait});
    }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    const OperationTrace& operation_;
    const std::int64_t begin_;
  };

 private:
  trace::Record record_{};  // begin 0: not traced
};

}  // namespace railweave::collectives
