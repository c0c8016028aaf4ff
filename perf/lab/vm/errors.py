"""The error of the VM itself, as opposed to a failure of the script that runs in it."""
from __future__ import annotations


class VmError(RuntimeError):
    """The VM cannot be made or did not return a status. The message says why, and what to do where something helps."""
