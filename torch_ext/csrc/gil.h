// Releases the GIL where the last reference to an object of ours is dropped.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <optional>

namespace railweave::torch_ext {

// Releases the GIL for its lifetime, if this thread holds the GIL. Destroyed objects may join threads that run Python
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
