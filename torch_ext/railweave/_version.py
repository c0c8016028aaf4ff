"""Versions: the package's own, and that of torch, whose C++ interfaces change from one minor version to the next."""

from importlib.metadata import PackageNotFoundError, version

UNKNOWN = "unknown"

try:
    __version__ = version("railweave")
except PackageNotFoundError:  # the package's files were copied without its metadata
    __version__ = UNKNOWN


def minor(of):
    """Returns the minor version: ``"2.13.0+cpu"`` gives ``"2.13"``."""
    return ".".join(of.split("+")[0].split(".")[:2])


def check_torch(running, built_for, build):
    """Raises ImportError unless `running`, a torch version, has the minor version of `built_for`. `build`: the command
    that builds the extension for `running`."""
    if minor(running) != minor(built_for):
        raise ImportError(
            f"railweave was built for torch {minor(built_for)} ({built_for}) and this is torch {running}. "
            f"Install that torch: pip install 'torch=={minor(built_for)}.*'; or build railweave for this one: {build}"
        )
