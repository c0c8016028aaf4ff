// What Python sees: railweave._C.
#include <torch/csrc/utils/pybind.h>
#include <torch/version.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <pybind11/chrono.h>

#include "torch_ext/backend.h"
#include "torch_ext/hints.h"

namespace {

namespace py = pybind11;
using railweave::torch_ext::RailweaveBackend;
using NoGil = py::call_guard<py::gil_scoped_release>;

}  // namespace

PYBIND11_MODULE(_C, module) {
  py::module_::import("torch._C._distributed_c10d");  // whose types these derive from
  module.attr("built_for_torch") = TORCH_VERSION;

  py::enum_<railweave::Class>(module, "Priority")
      .value("urgent", railweave::Class::urgent)
      .value("normal", railweave::Class::normal)
      .value("bulk", railweave::Class::bulk);
  module.def("set_priority", &railweave::torch_ext::set_priority, py::arg("priority"));

  py::class_<RailweaveBackend::Options, c10d::Backend::Options, c10::intrusive_ptr<RailweaveBackend::Options>>(
      module, "Options")
      .def(py::init([](std::chrono::milliseconds timeout) {
             return c10::make_intrusive<RailweaveBackend::Options>(timeout);
           }),
           py::arg("timeout") = kBackendDefaultTimeout);

  py::class_<RailweaveBackend, c10d::Backend, c10::intrusive_ptr<RailweaveBackend>>(module, "ProcessGroupRailweave")
      .def(py::init([](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                       std::chrono::milliseconds timeout, const std::string& name) {
             TORCH_CHECK_TYPE(store, "ProcessGroupRailweave: expected a Store, found None");
             auto options = c10::make_intrusive<RailweaveBackend::Options>(timeout, name);
             return c10::make_intrusive<RailweaveBackend>(store, rank, size, std::move(options));
           }),
           py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("timeout") = kBackendDefaultTimeout,
           py::arg("name") = "railweave", NoGil())
      .def("_leave", &RailweaveBackend::leave, NoGil())
      .def_property_readonly("options", [](RailweaveBackend& backend) { return backend.getBackendOptions(); });
}
