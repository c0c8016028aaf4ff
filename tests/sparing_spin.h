// The pause between two polls of a loop that spins like NCCL's proxy, and leaves the core to other tests and to builds.
#pragma once

#include <chrono>
#include <thread>

namespace railweave {

// Call between two polls. Yields, and sleeps for 20 us every sixteenth time. Threads: one.
class SparingSpin {
 public:
  void operator()() {
    if (++spins_ % 16 != 0) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

 private:
  unsigned spins_ = 0;
};

}  // namespace railweave
