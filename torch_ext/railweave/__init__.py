"""Railweave: plain Ethernet, all of it, for torch.distributed and NCCL.

Importing the package registers the process group backend ``"railweave"``::

    import railweave
    torch.distributed.init_process_group("railweave")

The backend serves CPU tensors of every dtype, over all NICs of a host and over shared memory within a host. It also
serves CUDA tensors, which it copies to the host and back. Its variables (``RAILWEAVE_*``) are those of the NCCL plugin.
"""

# Underscores keep imported names apart: dir() shows Railweave's own.
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
    """Makes a backend for torch. `options`: torch's `_DistributedBackendOptions`; `backend_options`: the user's."""
    given = backend_options is not None and backend_options._timeout != Options().timeout
    own = Options(backend_options._timeout if given else options.timeout)
    own.group_name = str(options.group_id or "")
    _trace.joined(options.group_rank, options.group_size)
    own.global_ranks_in_group = list(options.global_ranks_in_group or [])
    return ProcessGroupRailweave(options.store, options.group_rank, options.group_size, own)


def register():
    """Registers the backend ``"railweave"`` for CPU tensors, and for CUDA tensors if torch has CUDA. Importing this
    package calls it; further calls change nothing."""
    if "RAILWEAVE" not in _dist.Backend._plugins:
        devices = ["cpu", "cuda"] if _torch.backends.cuda.is_built() else ["cpu"]
        _dist.Backend.register_backend("railweave", _create, extended_api=True, devices=devices)


register()
_trace.begin_as_the_environment_says()
# Ends operations before the interpreter ends, because their callbacks cannot run later.
_atexit.register(_leave_all)
