// What may have to wait for somebody else, a store above all: done one after another on a thread of its own, so that nobody
// who drives operations or waits for them is held up.
//
// Threads: any; nothing is held while an errand runs. Life: the destructor waits until all errands have been done.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "railweave/status.h"

namespace railweave::collectives {

class Errands {
 public:
  ~Errands();
  // Once. Errors: exhausted (no thread to be had).
  Status start();
  void add(std::function<void()> errand);

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<std::function<void()>> line_;  // guarded by mutex_
  bool stopping_ = false;                   // guarded by mutex_
  std::thread thread_;
};

}  // namespace railweave::collectives
