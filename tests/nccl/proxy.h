// The two threads of NCCL's proxy for one rank. The service thread sets comms up and down, polling what is pending in a
// hot loop; the progress thread posts and tests, spins while there is work and sleeps otherwise.
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

  // Runs `step` again and again until it says true. The future carries what it threw.
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

// Something the progress thread drives.
class Flow {
 public:
  virtual ~Flow() = default;
  virtual bool advance() = 0;             // one pass, never blocks; true: finished
  virtual std::string state() const = 0;  // for the report of a hang
};

class ProgressThread {
 public:
  ProgressThread();
  ~ProgressThread();  // as abort: joins between two passes, whatever is outstanding

  void start(std::vector<Flow*> flows);
  // Waits until all are finished. Throws what a flow threw, or Failure with every flow's state after `timeout_s`.
  void wait(int timeout_s);
  // Leaves the flows alone until resume(): NCCL's thread sleeping.
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
