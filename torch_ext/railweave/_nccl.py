"""The NCCL net plugin in this package."""

import os
from pathlib import Path

import torch
import torch.distributed as dist

PLUGIN = Path(__file__).with_name("lib") / "libnccl-net-railweave.so"
# These versions forget a plugin's name with the last communicator; the next communicator then silently uses NCCL's
# sockets.
_FORGETFUL_SINCE, _FORGETFUL_UNTIL = (2, 26), (2, 30, 3)


def _nccl_version():
    """Returns (major, minor, patch) of torch's NCCL; None for a build without NCCL."""
    try:
        return torch.cuda.nccl.version()
    except (AttributeError, RuntimeError, ImportError):
        return None


def enable_nccl_plugin(required=True):
    """Makes NCCL use Railweave's net plugin from its first communicator on.

    Sets ``NCCL_NET_PLUGIN`` in this process's environment (and its children's), ``NCCL_NET_PLUGIN_REF_COUNT=1`` if
    torch's NCCL needs this to keep a plugin, and, if `required`, ``NCCL_NET=Railweave``: NCCL then fails instead of
    falling back to its own sockets. Variables that are already set stay as they are.

    Returns the plugin's path, a `pathlib.Path`. Raises RuntimeError if a process group of NCCL's exists already, and
    FileNotFoundError if this installation has no plugin.
    """
    if not PLUGIN.exists():
        raise FileNotFoundError(f"expected the NCCL plugin at {PLUGIN}; install railweave again")
    if dist.is_available() and dist.is_initialized() and "nccl" in str(dist.get_backend_config()):
        raise RuntimeError("call enable_nccl_plugin() before the first process group of NCCL is made")
    os.environ.setdefault("NCCL_NET_PLUGIN", str(PLUGIN))
    if required:
        os.environ.setdefault("NCCL_NET", "Railweave")
    version = _nccl_version()
    if version is None or _FORGETFUL_SINCE <= version < _FORGETFUL_UNTIL:
        os.environ.setdefault("NCCL_NET_PLUGIN_REF_COUNT", "1")
    return PLUGIN
