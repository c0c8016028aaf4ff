#include "torch_ext/csrc/python_stacks.h"

#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/bounded_call.h"

namespace railweave::torch_ext {
namespace {

namespace py = pybind11;

// Returns text with '?' for what UTF-8 cannot have.
std::string text_of(const py::handle& value) {
  const auto bytes = py::reinterpret_steal<py::object>(PyUnicode_AsEncodedString(value.ptr(), "utf-8", "replace"));
  if (bytes) return bytes.cast<std::string>();
  PyErr_Clear();
  return "?";
}

std::vector<PythonFrame> frames_from(py::object frame) {
  std::vector<PythonFrame> frames;
  for (; !frame.is_none() && frames.size() < PythonStacks::kFramesMost; frame = frame.attr("f_back")) {
    const py::object code = frame.attr("f_code"), line = frame.attr("f_lineno");
    const char* const name = py::hasattr(code, "co_qualname") ? "co_qualname" : "co_name";
    frames.push_back(
        {text_of(code.attr(name)), text_of(code.attr("co_filename")), line.is_none() ? 0 : line.cast<int>()});
  }
  return frames;
}

// REQUIRES: the GIL is held.
PythonStacks list_stacks() {
  PythonStacks stacks;
  const auto current = py::module_::import("sys").attr("_current_frames")().cast<py::dict>();
  const auto main = py::module_::import("threading").attr("main_thread")().attr("ident").cast<std::uint64_t>();
  for (const auto& [id, frame] : current) {
    const auto thread = id.cast<std::uint64_t>();
    stacks.threads.push_back({thread, thread == main, frames_from(py::reinterpret_borrow<py::object>(frame))});
  }
  std::stable_partition(stacks.threads.begin(), stacks.threads.end(), [](const PythonThread& one) { return one.main; });
  if (stacks.threads.size() > PythonStacks::kThreadsMost) stacks.threads.resize(PythonStacks::kThreadsMost);
  stacks.known = true;
  return stacks;
}

// An exception is destroyed while the GIL is held.
PythonStacks list_with_gil() {
  const py::gil_scoped_acquire held;
  try {
    return list_stacks();
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace

PythonStacks python_stacks(Nanos patience) {
  if (!Py_IsInitialized()) return {};
  auto stacks = call_within<PythonStacks>(patience, "railweave-frame", list_with_gil);
  return stacks.ok() ? std::move(*stacks) : PythonStacks();
}

}  // namespace railweave::torch_ext
