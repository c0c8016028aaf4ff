#include "tests/nccl/proxy.h"

#include <chrono>

#include "tests/nccl/failure.h"
#include "tests/sparing_spin.h"

namespace railweave::nccl_test {

ServiceThread::ServiceThread() : thread_([this] { loop(); }) {}

ServiceThread::~ServiceThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::future<void> ServiceThread::until(std::function<bool()> step) {
  const std::lock_guard lock(mutex_);
  incoming_.push_back({std::move(step), {}});
  wake_.notify_all();
  return incoming_.back().ended.get_future();
}

void ServiceThread::call(std::function<void()> step) {
  until([step = std::move(step)] { return step(), true; }).get();
}

bool ServiceThread::advance(Pending& pending) {
  try {
    if (!pending.step()) return false;
    pending.ended.set_value();
  } catch (...) {
    pending.ended.set_exception(std::current_exception());
  }
  return true;
}

void ServiceThread::loop() {
  std::list<Pending> pending;
  for (SparingSpin spin;; spin()) {
    {
      std::unique_lock lock(mutex_);
      if (pending.empty()) wake_.wait(lock, [&] { return stopping_ || !incoming_.empty(); });
      if (stopping_) return;
      pending.splice(pending.end(), incoming_);
    }
    pending.remove_if([](Pending& p) { return advance(p); });
  }
}

ProgressThread::ProgressThread() : thread_([this] { loop(); }) {}

ProgressThread::~ProgressThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ProgressThread::start(std::vector<Flow*> flows) {
  const std::lock_guard lock(mutex_);
  active_.insert(active_.end(), flows.begin(), flows.end());
  changed_.notify_all();
}

void ProgressThread::wait(int timeout_s) {
  std::unique_lock lock(mutex_);
  const bool ended =
      changed_.wait_for(lock, std::chrono::seconds(timeout_s), [&] { return error_ || active_.empty(); });
  if (error_) std::rethrow_exception(error_);
  if (ended) return;
  std::string states;
  for (const Flow* flow : active_) states += "\n  " + flow->state();
  throw Failure("not finished after " + std::to_string(timeout_s) + " s:" + states);
}

void ProgressThread::pause() {
  const std::lock_guard lock(mutex_);
  paused_ = true;
}

void ProgressThread::resume() {
  const std::lock_guard lock(mutex_);
  paused_ = false;
  changed_.notify_all();
}

// The lock is held for a whole pass, so that pause() and the destructor act between two passes, like NCCL's abort.
void ProgressThread::loop() {
  for (SparingSpin spin;; spin()) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || (!paused_ && !error_ && !active_.empty()); });
      if (stopping_) return;
      pass();
    }
  }
}

void ProgressThread::pass() {
  try {
    std::erase_if(active_, [](Flow* flow) { return flow->advance(); });
  } catch (...) {
    error_ = std::current_exception();
  }
  if (error_ || active_.empty()) changed_.notify_all();
}

}  // namespace railweave::nccl_test
