"""Railweave: plain Ethernet, all of it, for torch.distributed and NCCL.

Importing this registers the process group backend ``"railweave"``::

    import railweave
    torch.distributed.init_process_group("railweave")

It serves CPU tensors of every dtype, over all NICs of a host and over shared memory within one, and CUDA tensors, which
it copies to the host and back. Its variables (``RAILWEAVE_*``) are those of the NCCL plugin.
"""

# By names of their own: dir() shows what is Railweave's.
import atexit as _atexit

import torch as _torch
import torch.distributed as _dist

from railweave._version import check_torch as _check_torch

_check_torch(_torch.__version__)

from railweave._C import Options, ProcessGroupRailweave, _leave_all  # noqa: E402
from railweave._hints import hints  # noqa: E402
from railweave import _trace  # noqa: E402
from railweave._nccl import enable_nccl_plugin  # noqa: E402
from railweave._report import report  # noqa: E402
from railweave._trace import step, trace  # noqa: E402

__all__ = ["Options", "ProcessGroupRailweave", "enable_nccl_plugin", "hints", "register", "report", "step", "trace"]


def _create(options, backend_options):
    """A backend as torch asks for it: `options` is its `_DistributedBackendOptions`, `backend_options` the user's."""
    given = backend_options is not None and backend_options._timeout != Options().timeout
    own = Options(backend_options._timeout if given else options.timeout)
    own.group_name = str(options.group_id or "")
    _trace.joined(options.group_rank, options.group_size)
    own.global_ranks_in_group = list(options.global_ranks_in_group or [])
    return ProcessGroupRailweave(options.store, options.group_rank, options.group_size, own)


def register():
    """Registers the backend ``"railweave"`` for CPU tensors, and CUDA's where torch has CUDA. Importing this package
    did; again does no harm."""
    if "RAILWEAVE" not in _dist.Backend._plugins:
        devices = ["cpu", "cuda"] if _torch.backends.cuda.is_built() else ["cpu"]
        _dist.Backend.register_backend("railweave", _create, extended_api=True, devices=devices)


register()
_trace.begin_as_the_environment_says()
# Before the interpreter goes: its callbacks cannot run later.
_atexit.register(_leave_all)
