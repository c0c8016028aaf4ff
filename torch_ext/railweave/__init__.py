"""Railweave: plain Ethernet, all of it, for torch.distributed and NCCL.

Where this package is installed, torch has the process group backend ``"railweave"``::

    import torch
    torch.distributed.init_process_group("railweave")

The backend serves CPU tensors of every dtype, over all NICs of a host and over shared memory within a host. It also
serves CUDA tensors, which it copies to the host and back. Its variables (``RAILWEAVE_*``) are those of the NCCL plugin.
"""

# `import torch` imports this package (_autoload.py). So nothing here may fail or take time: each name loads its module
# at first use. Underscores keep imported names apart: dir() shows Railweave's own.
import sys as _sys

_MODULES = {
    "Options": "railweave._extension",
    "ProcessGroupRailweave": "railweave._extension",
    "dump": "railweave._dump",
    "enable_nccl_plugin": "railweave._nccl",
    "hints": "railweave._hints",
    "register": "railweave._creation",
    "report": "railweave._report",
    "step": "railweave._trace",
    "trace": "railweave._trace",
}
__all__ = list(_MODULES)


def __getattr__(name):
    """Loads a public name's module. Python calls it once for each name (PEP 562). Raises ImportError with what to
    install if torch or the extension for it is missing."""
    module = "railweave._version" if name == "__version__" else _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'railweave' has no attribute {name!r}")
    from importlib import import_module

    try:
        value = globals()[name] = getattr(import_module(module), name)
    except ModuleNotFoundError as missing:
        if missing.name != "torch":
            raise
        raise ImportError(f"railweave.{name} needs torch; install torch and the wheel railweave-torch "
                          "(docs/guide/install.md)") from missing
    return value


def __dir__():
    return sorted({*globals(), *__all__, "__version__"})


if "torch" in _sys.modules:
    from railweave._autoload import register as _register

    _register()
