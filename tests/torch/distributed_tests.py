"""torch's own tests of torch.distributed, over one backend at one world size:
`torch_distributed_tests(mode, world_size)`.

The modes: "railweave" is our backend by its own name. "as_gloo" is our backend in Gloo's place, for the tests that
torch runs only for the name "gloo". "gloo" is Gloo itself, the control. A process has one mode and one world size,
because torch's module reads both from the environment when it is imported.
"""

import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1
# Timeout of the barriers between the ranks' processes. Torch's 10 s can be too short for eight ranks to start.
BARRIER_PATIENCE_S = 30
# Reasons of skipped tests that torch runs only for the name "mpi", though the tests need nothing of MPI.
ONLY_MPI = ("Only MPI supports all_to_all", "Only MPI supports CPU all_to_all_single")


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def stand_in_for_gloo(c10d, backend_type):
    """Puts `backend_type` in the place of torch's Python class ProcessGroupGloo, also for isinstance()."""

    class Kind(type):
        def __instancecheck__(cls, thing):
            return isinstance(thing, backend_type)

    class ProcessGroupGloo(metaclass=Kind):
        def __new__(cls, store, rank, size, timeout):
            return backend_type(store, rank, size, timeout, "gloo")

    c10d.ProcessGroupGloo = ProcessGroupGloo
    # Torch's C++ casts a backend of type GLOO to Gloo's class (DDP does, to log its threads).
    types = c10d.ProcessGroup.BackendType
    types.GLOO = types.CUSTOM
    c10d.Backend.backend_type_map["gloo"] = types.CUSTOM


def allow_our_name(distributed_test):
    """Enables for "railweave" the tests that torch runs only for a list of backend names."""
    for names in (distributed_test.PROFILING_SUPPORTED_BACKENDS,
                  distributed_test.SEND_RECV_PROFILING_SUPPORTED_BACKENDS):
        names.append("railweave")
    for test in vars(distributed_test.DistributedTest._DistTestBase).values():
        if getattr(test, "__unittest_skip_why__", None) in ONLY_MPI:
            del test.__unittest_skip__, test.__unittest_skip_why__


def torch_distributed_tests(mode, world_size):
    """Returns a unittest.TestCase whose tests fork a process for each rank."""
    os.environ["BACKEND"] = "railweave" if mode == "railweave" else "gloo"
    os.environ["WORLD_SIZE"] = str(world_size)
    import torch
    import torch.distributed.distributed_c10d as c10d
    from torch.testing._internal.common_distributed import DistTestCases

    torch.set_num_threads(1)
    if mode != "gloo":
        from railweave import ProcessGroupRailweave

        if mode == "as_gloo":
            stand_in_for_gloo(c10d, ProcessGroupRailweave)
    for feature in ("ddp", "subgroup", "plugin"):
        DistTestCases.backend_feature[feature] |= {"railweave"}
    from torch.testing._internal.distributed import distributed_test

    if mode == "railweave":
        allow_our_name(distributed_test)

    class TorchDistributedTests(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            # Ranks are forked and not spawned, because importing torch takes seconds.
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

        @classmethod
        def _run(cls, *args, **named):
            die_with_parent()
            super()._run(*args, **named)

        def _barrier(self, *args, **named):
            super()._barrier(*args, **{"timeout": BARRIER_PATIENCE_S, **named})

    return TorchDistributedTests
