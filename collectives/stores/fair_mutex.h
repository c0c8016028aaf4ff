// A mutex that is handed on in the order in which it was asked for: who asks again at once keeps nobody out.
// For holders that wait; where they do not, a std::mutex is cheaper. Threads: any.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace railweave::collectives {

class FairMutex {
 public:
  void lock() {
    std::unique_lock inner(inner_);
    const std::uint64_t ticket = next_++;
    handed_on_.wait(inner, [&] { return serving_ == ticket; });
  }
  // False also while somebody else waits for it.
  bool try_lock() {
    const std::lock_guard inner(inner_);
    if (next_ != serving_) return false;
    ++next_;
    return true;
  }
  void unlock() {
    const std::lock_guard inner(inner_);
    ++serving_;
    handed_on_.notify_all();
  }

 private:
  std::mutex inner_;
  std::condition_variable handed_on_;
  std::uint64_t next_ = 0, serving_ = 0;  // guarded by inner_: tickets; free where they are equal
};

}  // namespace railweave::collectives
