"""Installs the Debian packages of packages.txt that are missing."""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from .commands import run_shown
from .errors import VmError
from .paths import kPackages

_UPDATE_LIMIT_S, _INSTALL_LIMIT_S = 120.0, 300.0


def wanted() -> list[str]:
    lines = (line.split("#")[0].strip() for line in kPackages.read_text().splitlines())
    return [line for line in lines if line]


def _installed(packages: list[str]) -> set[str]:
    asked = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${db:Status-Status}\\n", *packages], capture_output=True,
                           text=True, check=False)
    return {words[0] for line in asked.stdout.splitlines() if (words := line.split())[1:] == ["installed"]}


def install(log: Path) -> None:
    """Installs what is missing. Raises VmError if a package cannot be had."""
    if shutil.which("dpkg-query") is None:
        raise VmError("not a Debian system: the VM takes QEMU and a kernel from Debian's packages")
    packages = wanted()
    installed = _installed(packages)
    missing = [package for package in packages if package not in installed]
    if not missing:
        return
    names = " ".join(missing)
    if os.geteuid() != 0:
        raise VmError(f"not installed: {names}; run as root: apt-get install --no-install-recommends {names}")
    run_shown("reading package lists", ["apt-get", "-q", "update"], log, _UPDATE_LIMIT_S)
    run_shown(f"installing {names}", ["apt-get", "-q", "install", "-y", "--no-install-recommends", *missing], log,
              _INSTALL_LIMIT_S)
