// The interpreter's lock, where the last reference to something of ours is dropped.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <optional>

namespace railweave::torch_ext {

// Releases the lock while it lives, if this thread has it: what is destroyed may join threads that run Python's
// callbacks.
class WithoutGil {
 public:
  WithoutGil() {
    if (Py_IsInitialized() && PyGILState_Check()) released_.emplace();
  }

 private:
  std::optional<pybind11::gil_scoped_release> released_;
};

}  // namespace railweave::torch_ext
