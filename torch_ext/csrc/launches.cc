#include "torch_ext/csrc/launches.h"

#include <chrono>
#include <exception>

#include "base/error.h"
#include "collectives/exec/quiet_thread.h"

namespace railweave::torch_ext {
namespace {

// Between two looks whether copies are done: torch's way to wait for them keeps a core busy.
constexpr auto kLook = std::chrono::microseconds(20);

}  // namespace

Launches::~Launches() {
  if (birthplace_.left()) {  // a forked child has no such thread, and to destroy what it waited on would wait for it
    new std::shared_ptr<Line>(line_);
    return;
  }
  end(Status(Code::cancelled, Scope::engine, "the process group is gone"));
  {
    const MutexLock lock(line_->mutex);
    line_->over = true;
  }
  line_->changed.notify_all();
  if (!line_->thread.joinable()) return;
  line_->thread.get_id() == std::this_thread::get_id() ? line_->thread.detach() : line_->thread.join();
}

void Launches::add(MarkPtr ready, Launch launch) {
  if (birthplace_.left()) return launch({});  // the group itself says that it is not of this process
  Status status;
  {
    const MutexLock lock(line_->mutex);
    status = line_->ended;
    if (!line_->waiting.empty() || (status.ok() && ready)) {
      if (line_->waiting.empty() && !line_->thread.joinable())
        status = collectives::start_quietly(line_->thread, "railweave-stage", [line = line_] { line->run(); });
      if (!line_->waiting.empty() || status.ok()) {
        line_->waiting.push_back({std::move(ready), std::move(launch)});
        line_->changed.notify_all();
        return;
      }
    }
  }
  launch(status);
}

void Launches::end(const Status& why) {
  if (birthplace_.left()) return;
  const MutexLock lock(line_->mutex);
  if (line_->ended.ok()) line_->ended = why;
}

void Launches::drain() {
  if (birthplace_.left()) return;
  const MutexLock lock(line_->mutex);
  if (line_->thread.get_id() == std::this_thread::get_id()) return;
  line_->changed.wait(line_->mutex, [this]() RW_REQUIRES(line_->mutex) { return line_->waiting.empty(); });
}

Status Launches::Line::until_ready(const MarkPtr& ready) {
  for (;;) {
    {
      const MutexLock lock(mutex);
      if (!ended.ok()) return ended;
    }
    try {
      if (!ready || ready->passed()) return {};
    } catch (const std::exception& error) {
      return Status(Code::system, Scope::request, error.what());
    }
    std::this_thread::sleep_for(kLook);
  }
}

void Launches::Line::run() {
  MutexLock lock(mutex);
  for (;;) {
    changed.wait(mutex, [this]() RW_REQUIRES(mutex) { return over || !waiting.empty(); });
    if (waiting.empty()) return;
    {
      const Waiting first = std::move(waiting.front());
      lock.unlock();
      first.launch(until_ready(first.ready));
    }
    lock.lock();
    waiting.pop_front();
    changed.notify_all();
  }
}

}  // namespace railweave::torch_ext
