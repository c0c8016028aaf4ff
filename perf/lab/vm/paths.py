"""The files that `tools/vm setup` makes in build/vm, and the guest's scripts."""
from __future__ import annotations

from pathlib import Path

kRoot = Path(__file__).resolve().parents[3]
kGuest = Path(__file__).resolve().with_name("guest")
kPackages = Path(__file__).resolve().with_name("packages.txt")
kBuild = kRoot / "build" / "vm"
# A folder with vmlinux and lib/modules/VERSION. The folder appears whole or not at all.
kKernel = kBuild / "kernel"
kImage = kKernel / "vmlinux"
kInitramfs = kBuild / "initramfs.cpio"


def modules() -> Path:
    """Returns the folder lib/modules/VERSION of the unpacked kernel. REQUIRES: the kernel is unpacked."""
    return next((kKernel / "lib" / "modules").iterdir())
