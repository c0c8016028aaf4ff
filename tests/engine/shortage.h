// Allocations that fail when a test wants them to. Its executable's operator new is replaced: nothing else links it.
#pragma once

namespace railweave::engine_test {

// While it lives, on the threads meant, the allocations after the first `good` fail, `bad` of them. One at a time.
class Shortage {
 public:
  enum Where { here, elsewhere };  // the thread that made the first Shortage, or all others
  Shortage(Where where, int good, int bad = 1);
  ~Shortage();
  // Some allocation failed.
  bool felt() const;
};

}  // namespace railweave::engine_test
