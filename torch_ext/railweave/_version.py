"""Checks the version of torch: torch's C++ interfaces change from one minor version to the next."""

from railweave._built_for import TORCH_VERSION


def minor(version):
    """Returns the minor version: ``"2.13.0+cpu"`` gives ``"2.13"``."""
    return ".".join(version.split("+")[0].split(".")[:2])


def check_torch(running):
    """Raises ImportError unless `running`, a torch version, has the minor version that this package was built for."""
    if minor(running) != minor(TORCH_VERSION):
        raise ImportError(
            f"railweave was built for torch {minor(TORCH_VERSION)} ({TORCH_VERSION}) and this is torch {running}. "
            "Build it again for this one: "
            "pip install --no-build-isolation --force-reinstall --no-deps <railweave's sources>"
        )
