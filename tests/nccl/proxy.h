// The two threads of NCCL's proxy for one rank. The service thread sets up and closes comms, and polls pending steps in
// a hot loop. The progress thread posts and tests; it spins while there is work, and sleeps otherwise.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace railweave::nccl_test {

class ServiceThread {
 public:
  ServiceThread();
  ~ServiceThread();

  // Runs `step` again and again until it returns true. The future carries the exception of `step`.
  std::future<void> until(std::function<bool()> step);
  // Runs `step` once and waits.
  void call(std::function<void()> step);

 private:
  struct Pending {
    std::function<bool()> step;
    std::promise<void> ended;
  };
  void loop();
  static bool advance(Pending& pending);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<Pending> incoming_;
  bool stopping_ = false;
  std::thread thread_;
};

// Work that the progress thread drives.
class Flow {
 public:
  virtual ~Flow() = default;
  virtual bool advance() = 0;             // one pass, never blocks; true: finished
  virtual std::string state() const = 0;  // for the report of a hang
};

class ProgressThread {
 public:
  ProgressThread();
  ~ProgressThread();  // like NCCL's abort: joins between two passes, whatever is outstanding

  void start(std::vector<Flow*> flows);
  // Waits until all flows are finished. Throws the exception of a flow, or, after `timeout_s`, Failure with every
  // flow's state.
  void wait(int timeout_s);
  // Advances no flow until resume(), as if NCCL's thread slept.
  void pause();
  void resume();

 private:
  void loop();
  void pass();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Flow*> active_;
  std::exception_ptr error_;
  bool stopping_ = false, paused_ = false;
  std::thread thread_;
};

}  // namespace railweave::nccl_test
