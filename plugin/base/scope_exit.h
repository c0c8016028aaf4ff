// ScopeExit: runs a function when its scope is left in any way, unless dismissed. Threads: one.
#pragma once

#include <utility>

namespace railweave {

template <class Act>
class ScopeExit {
 public:
  explicit ScopeExit(Act act) : act_(std::move(act)) {}
  ~ScopeExit() {
    if (wanted_) act_();
  }
  ScopeExit(const ScopeExit&) = delete;
  ScopeExit& operator=(const ScopeExit&) = delete;
  void dismiss() { wanted_ = false; }

 private:
  Act act_;  // must not throw
  bool wanted_ = true;
};

}  // namespace railweave
