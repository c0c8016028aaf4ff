// Where the threads of the Python interpreter are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "railweave/units.h"

namespace railweave::torch_ext {

struct PythonFrame {
  std::string name, filename;
  int line = 0;
};

struct PythonThread {
  std::uint64_t id = 0;  // of pthread_self()
  bool main = false;
  std::vector<PythonFrame> frames;  // the innermost first; kFramesMost at most
};

struct PythonStacks {
  static constexpr std::size_t kFramesMost = 24, kThreadsMost = 16;
  bool known = false;                 // false: the GIL was not free in time
  std::vector<PythonThread> threads;  // the main thread first
};

// Another thread takes the GIL and lists the stacks, so that a caller waits for `patience` at most, even if some thread
// never gives the GIL back. Without an interpreter: unknown. Any thread; the caller must not hold the GIL.
PythonStacks python_stacks(Nanos patience);

}  // namespace railweave::torch_ext
