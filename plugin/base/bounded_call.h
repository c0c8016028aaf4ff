// Calls a function that may block for ever (a hung file system, the interpreter's lock), and stops waiting in time.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/service_thread.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave {

// Runs `task` on a thread of its own, and returns its result. Any thread. After `patience` the caller goes on, and the
// thread stays behind until `task` returns. So `task` must own the objects that it uses. `name`: of the thread, at most
// 15 characters. Errors: the task's, timed_out, exhausted (no thread, or `task` threw an exception).
template <class Value>
Result<Value> call_within(Nanos patience, const char* name, std::function<Result<Value>()> task) {
  struct Call {
    Mutex mutex;
    ConditionVariable over;
    std::optional<Result<Value>> result RW_GUARDED_BY(mutex);
  };
  const auto call = std::make_shared<Call>();
  std::thread thread;
  const Status started = start_service_thread(thread, name, [call, task = std::move(task)] {
    std::optional<Result<Value>> result;
    try {
      result = task();
    } catch (const std::exception& error) {  // others unwind the thread: an interpreter that ends does so
      result = Status(Code::exhausted, Scope::request, error.what());
    }
    const MutexLock lock(call->mutex);
    call->result = std::move(result);
    call->over.notify_all();
  });
  if (!started.ok()) return started;
  thread.detach();
  const MutexLock lock(call->mutex);
  call->over.wait_for(call->mutex, patience, [&]() RW_REQUIRES(call->mutex) { return call->result.has_value(); });
  if (!call->result) return Status(Code::timed_out, Scope::request, "no answer in time");
  return std::move(*call->result);
}

}  // namespace railweave
