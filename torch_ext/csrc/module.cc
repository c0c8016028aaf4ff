// The Python bindings: railweave._C.
#include <torch/csrc/utils/pybind.h>
#include <torch/version.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <pybind11/chrono.h>

#include "base/clock.h"
#include "base/trace.h"
#include "collectives/schedule/algorithm_choice.h"
#include "torch_ext/csrc/backend.h"
#include "torch_ext/csrc/backend_registry.h"
#include "torch_ext/csrc/c10d_names.h"
#include "torch_ext/csrc/dumps.h"
#include "torch_ext/csrc/hints.h"

namespace {

namespace py = pybind11;
using railweave::torch_ext::RailweaveBackend;
using NoGil = py::call_guard<py::gil_scoped_release>;

c10::intrusive_ptr<RailweaveBackend> created(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                             const c10::intrusive_ptr<RailweaveBackend::Options>& options) {
  TORCH_CHECK_TYPE(store, "ProcessGroupRailweave: expected a Store, found None");
  TORCH_CHECK_TYPE(options, "ProcessGroupRailweave: expected Options, found None");
  TORCH_CHECK_VALUE(rank >= 0 && rank < size, "ProcessGroupRailweave: expected a rank from 0 to ", size - 1, ", found ",
                    rank);
  auto backend = c10::make_intrusive<RailweaveBackend>(store, rank, size, options);
  railweave::torch_ext::register_backend(backend);
  return backend;
}

// torch copies the options of the parent group when a group is split off.
c10::intrusive_ptr<RailweaveBackend::Options> copied(const RailweaveBackend::Options& options) {
  auto copy = c10::make_intrusive<RailweaveBackend::Options>(options.timeout, options.backend);
  railweave::torch_ext::take_group(options, *copy);
  return copy;
}

const char* error_name(c10d::ErrorType error) {
  switch (error) {
    case c10d::ErrorType::SUCCESS: return "";
    case c10d::ErrorType::TIMEOUT: return "timeout";
    case c10d::ErrorType::REMOTE_ERROR: return "remote";
    default: return "local";
  }
}

// railweave/_records.py reads the results of these functions.
void define_trace(py::module_& module) {
  namespace trace = railweave::trace;
  module.def("_trace_start", &trace::start, py::arg("records"));
  module.def("_trace_stop", [] {
    trace::Taken taken;
    {
      const py::gil_scoped_release released;  // threads that write records may be about to take it
      taken = trace::stop();
    }
    const auto* bytes = reinterpret_cast<const char*>(taken.records.data());
    return py::make_tuple(py::bytes(bytes, taken.records.size() * sizeof(trace::Record)), taken.names, taken.dropped);
  });
  module.def("_trace_on", &trace::on);
  module.def("_trace_step", [](std::uint64_t number) {
    const std::int64_t t = trace::nanos_of(railweave::now());
    trace::add({.begin = t,
                .end = t,
                .what = number,
                .bytes = 0,
                .detail = 0,
                .whose = 0,
                .rail = 0,
                .priority = 0,
                .kind = trace::Kind::step});
  });
  std::vector<std::string> operations, types;
  for (int o = 0; o < railweave::collectives::kOperations; ++o)
    operations.emplace_back(name(railweave::collectives::Operation(o)));
  for (int t = 0; t < railweave::collectives::kDataTypes; ++t)
    types.emplace_back(name(railweave::collectives::DataType(t)));
  module.attr("_operation_names") = operations;
  module.attr("_type_names") = types;
}

}  // namespace

PYBIND11_MODULE(_C, module) {
  py::module_::import("torch._C._distributed_c10d");  // has the base classes of these types
  module.attr("built_for_torch") = TORCH_VERSION;

  py::enum_<railweave::Priority>(module, "Priority", "How soon compute wants an operation; see railweave.hints.")
      .value("urgent", railweave::Priority::urgent)
      .value("normal", railweave::Priority::normal)
      .value("bulk", railweave::Priority::bulk);
  module.def("set_priority", &railweave::torch_ext::set_priority, py::arg("priority"),
             "Sets the priority of the operations that this thread calls from now on. Returns the priority before.");
  module.def("_leave_all", &railweave::torch_ext::leave_all, NoGil());
  define_trace(module);
  // railweave/_dump.py raises the errors.
  module.def(
      "_dump",
      [](const std::string& folder) {
        const auto path = railweave::torch_ext::write_asked_dump(folder);
        const railweave::Status status = path.status();
        return std::make_tuple(path.ok() ? path.value() : status.message(), path.ok(), status.system_errno());
      },
      py::arg("folder"), NoGil());

  py::class_<RailweaveBackend::Options, c10d::Backend::Options, c10::intrusive_ptr<RailweaveBackend::Options>>(
      module, "Options",
      "Options for new_group() and init_process_group() (pg_options).\n\n`timeout`: the bound of each operation and of "
      "the rendezvous; more than 0. With the default of 30 minutes, the timeout argument beside pg_options counts.")
      .def(py::init([](std::chrono::milliseconds timeout) {
             return c10::make_intrusive<RailweaveBackend::Options>(timeout);
           }),
           py::arg("timeout") = kBackendDefaultTimeout)
      .def_property(
          "timeout", [](const RailweaveBackend::Options& options) { return options.timeout; },
          [](RailweaveBackend::Options& options, std::chrono::milliseconds timeout) { options.timeout = timeout; })
      .def("__copy__", &copied)
      .def("__deepcopy__", [](const RailweaveBackend::Options& options, const py::dict&) { return copied(options); });

  py::class_<RailweaveBackend, c10d::Backend, c10::intrusive_ptr<RailweaveBackend>>(
      module, "ProcessGroupRailweave",
      "The backend \"railweave\" of one process group; torch makes it (init_process_group, new_group).\n\n"
      "Tensors: dense, of any dtype that the operation supports, on the CPU or on one CUDA device, with any strides. "
      "The elements of a result must not share memory. Counts are elements; times are datetime.timedelta.\n\n"
      "Errors: RuntimeError at the call for tensors that are not supported. torch.distributed.DistBackendError, from "
      "wait() or at the call, for a lost rank, a timeout or an abort; the error names operation, number, rank and "
      "bytes, and ends the group.")
      .def(py::init([](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                       std::chrono::milliseconds timeout, const std::string& name) {
             return created(store, rank, size, c10::make_intrusive<RailweaveBackend::Options>(timeout, name));
           }),
           py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("timeout") = kBackendDefaultTimeout,
           py::arg("name") = "railweave", NoGil())
      .def(py::init(&created), py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("options"), NoGil())
      .def_property_readonly("options", [](RailweaveBackend& backend) { return backend.getBackendOptions(); })
      .def("schedule_by", &RailweaveBackend::schedule_by, py::arg("policy"), NoGil(),
           "Sets the schedule of all groups of this process from the next operation on, by a value of "
           "RAILWEAVE_SCHEDULE: \"off\", \"window:2\", \"window:64M\" or \"auto\". Every rank must call schedule_by() "
           "after the same collective, with the same value. Waits for the collectives before. Raises ValueError.")
      .def_property_readonly(
          "error", [](RailweaveBackend& backend) { return error_name(backend.getError()); },
          "What ended the group: \"timeout\", \"remote\" (a rank was lost) or \"local\"; empty while it lives.");
}
