"""The extension module `_C`. The first import of this module loads it. If the extension is missing or is for another
torch, that import raises ImportError with what to install."""

import atexit
from importlib import import_module

import torch

from railweave._autoload import register
from railweave._version import UNKNOWN, __version__, check_torch

_VERSION = "*" if __version__ == UNKNOWN else __version__
_INSTALL = f"pip install FOLDER/railweave_torch-{_VERSION}-*.whl, where FOLDER has Railweave's wheels"
_BUILD = "pip install --no-build-isolation --force-reinstall --no-deps <railweave's sources>"


def _part(name):
    """Returns a module that is compiled or written for one version of torch."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"railweave: the extension for torch {torch.__version__} does not load: {error}. "
                          f"Install it: {_INSTALL}; or build it for this torch: {_BUILD}") from error


def _load():
    check_torch(torch.__version__, _part("railweave._built_for").TORCH_VERSION, _BUILD)
    return _part("railweave._C")


_C = _load()
Options, ProcessGroupRailweave = _C.Options, _C.ProcessGroupRailweave
register()  # for TORCH_DEVICE_BACKEND_AUTOLOAD=0
# Ends operations before the interpreter ends, because their callbacks cannot run later.
atexit.register(_C._leave_all)
