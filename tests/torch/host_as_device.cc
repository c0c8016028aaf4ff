// Replaces torch_ext/csrc/staging.cc: the host's tensors count as those of a device. Each stream is a thread that runs
// every copy late, so that code that does not wait for a copy sees the bytes from before the copy. The caller's stream
// is the calling thread itself.
#include "torch_ext/csrc/staging.h"

#include <ATen/ThreadLocalState.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

namespace railweave::torch_ext {
namespace {

constexpr auto kLate = std::chrono::microseconds(200);
constexpr int kNobodyWrote = 0x7b;

class PassedMark final : public Mark {
 public:
  bool passed() override { return true; }
  void hold_current_stream() override {}
};

class StreamMark final : public Mark {
 public:
  explicit StreamMark(std::future<void> done) : done_(done.share()) {}
  bool passed() override {
    if (done_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    done_.get();  // throws the copy's exception
    return true;
  }
  void hold_current_stream() override { done_.get(); }

 private:
  const std::shared_future<void> done_;
};

class Stream {
 public:
  Stream() {
    std::thread([this] { run(); }).detach();
  }

  MarkPtr give(std::function<void()> work) {
    std::packaged_task<void()> task(std::move(work));
    auto mark = std::make_shared<StreamMark>(task.get_future());
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    given_.notify_one();
    return mark;
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      given_.wait(lock, [this] { return !tasks_.empty(); });
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      std::this_thread::sleep_for(kLate);
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable given_;
  std::deque<std::packaged_task<void()>> tasks_;  // guarded by mutex_
};

class HostAsDevice final : public StagedDevice {
 public:
  at::Tensor room(std::int64_t elements, at::ScalarType type) override {
    at::Tensor room = at::empty({elements}, type);
    if (elements > 0) std::memset(room.data_ptr(), kNobodyWrote, room.nbytes());
    return room;
  }
  MarkPtr mark() override { return std::make_shared<PassedMark>(); }
  MarkPtr copy(Way way, Mark& begin, const Copies& copies) override {
    begin.hold_current_stream();
    return (way == Way::to_host ? to_host_ : to_device_).give([copies, modes = at::ThreadLocalState()] {
      const at::ThreadLocalStateGuard as_given(modes);  // a device checks copies when they are issued
      const at::NoGradGuard no_grad;
      for (const auto& [to, from] : copies) to.copy_(from);
    });
  }
  void on_stream_to_device(const std::function<void()>& call) override {
    to_device_.give([] {})->hold_current_stream();  // earlier copies end first: `call` runs at once, on no stream
    call();
  }

 private:
  Stream to_host_, to_device_;
};

}  // namespace

// Each rank's process makes its own device at the first use. The device is never destroyed, and nor are its threads.
StagedDevice* staged_device(at::Device device) {
  static HostAsDevice* const of_host = new HostAsDevice;
  return device.is_cpu() ? of_host : nullptr;
}

}  // namespace railweave::torch_ext
