// The one place where an operation is let in. A scheduler will order and hold back here; admission may depend only on what
// is the same on every rank, or two ranks that let in different operations wait for each other.
// Threads: under the runner's lock.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

namespace railweave::collectives {

// Policy `off`: in issue order, at once.
template <class Operation>
class Admission {
 public:
  void ask(Operation operation) { waiting_.push_back(std::move(operation)); }
  std::optional<Operation> next() {
    if (waiting_.empty()) return std::nullopt;
    Operation first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
  }
  bool empty() const { return waiting_.empty(); }

 private:
  std::deque<Operation> waiting_;
};

}  // namespace railweave::collectives
