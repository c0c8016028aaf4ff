// Makes allocations fail when a test wants. shortage.cc replaces operator new of the executable that links it.
#pragma once

namespace railweave::engine_test {

// Until destruction, allocations of the threads meant fail: `bad` of them, after the first `good`. One at a time.
class Shortage {
 public:
  enum Where { here, elsewhere };  // threads that have made a Shortage, or all others
  Shortage(Where where, int good, int bad = 1);
  ~Shortage();
  // True if an allocation failed.
  bool felt() const;
};

}  // namespace railweave::engine_test
