"""Makes backends for torch."""

from railweave import _autoload, _trace
from railweave._extension import Options, ProcessGroupRailweave


def register():
    """Registers the backend ``"railweave"`` with torch. `import torch` does so too, unless
    ``TORCH_DEVICE_BACKEND_AUTOLOAD=0`` is set. Further calls change nothing.

    Raises ImportError if the extension does not load, and RuntimeError if torch does not take the backend.
    """
    _autoload.register()
    if _autoload.failure is not None:
        raise RuntimeError(f"railweave: torch did not take the backend: {_autoload.failure}") from _autoload.failure


def create(options, backend_options):
    """Makes a backend. `options`: torch's `_DistributedBackendOptions`; `backend_options`: the user's."""
    given = backend_options is not None and backend_options._timeout != Options().timeout
    own = Options(backend_options._timeout if given else options.timeout)
    own.group_name = str(options.group_id or "")
    own.global_ranks_in_group = list(options.global_ranks_in_group or [])
    _trace.joined(options.group_rank, options.group_size)
    return ProcessGroupRailweave(options.store, options.group_rank, options.group_size, own)
