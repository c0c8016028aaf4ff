"""`tools/vm setup`: the packages, the kernel and the first file system, each only if missing."""
from __future__ import annotations

import fcntl
import os
import platform

from . import initramfs, kernel, packages
from .commands import say
from .errors import VmError
from .paths import kBuild, modules


def make() -> None:
    """Makes all that `tools/vm run` needs. A second process waits for the first. Raises VmError."""
    if platform.machine() != "x86_64":
        raise VmError(f"this host is {platform.machine()}; the VM runs the host's programs and needs x86_64")
    kBuild.mkdir(parents=True, exist_ok=True)
    log = kBuild / "setup.log"
    lock = os.open(kBuild / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        packages.install(log)
        kernel.fetch(log)
        initramfs.make()
    finally:
        os.close(lock)
    say(f"ready: Linux {modules().name}")
