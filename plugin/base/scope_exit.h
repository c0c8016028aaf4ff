// Does something however a scope is left, unless it is told not to. One thread.
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
  Act act_;  // throws nothing
  bool wanted_ = true;
};

}  // namespace railweave
