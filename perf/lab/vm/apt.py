"""Downloads packages of one Debian suite by apt, with package lists of its own: the system's sources stay unchanged."""
from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from .commands import run_shown
from .errors import VmError

_MIRROR = "http://deb.debian.org/debian"
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_UPDATE_LIMIT_S, _DOWNLOAD_LIMIT_S = 120.0, 400.0


class Suite:
    """A suite of Debian's main archive, for example `trixie-backports`. Files are below `folder`."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name = name
        self._folder = folder.resolve()
        self._options = [f"-oDir::Etc::SourceList={self._folder}/sources.list", "-oDir::Etc::SourceParts=-",
                         f"-oDir::State::Lists={self._folder}/lists", f"-oDir::Cache={self._folder}/cache",
                         "-oAPT::Sandbox::User=root"]

    def update(self, log: Path) -> None:
        """Reads the suite's package lists. Raises VmError."""
        for name in ("lists/partial", "cache/archives/partial"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        line = f"deb [arch=amd64 signed-by={_KEYRING}] {_mirror()} {self._name} main\n"
        (self._folder / "sources.list").write_text(line)
        run_shown(f"reading the package lists of {self._name}",
                  ["apt-get", *self._options, "-q", "--error-on=any", "update"], log, _UPDATE_LIMIT_S)

    def dependencies(self, package: str) -> list[str]:
        """Returns the packages that a package of the suite depends on, without alternatives. Raises VmError."""
        done = subprocess.run(["apt-cache", *self._options, "depends", "--important", package], capture_output=True,
                              text=True, check=False, env={**os.environ, "LC_ALL": "C"})
        if done.returncode != 0:
            raise VmError(f"{self._name} has no package {package}: {done.stderr.strip()}")
        return re.findall(r"^ +(?:Pre)?Depends: ([a-z0-9][\w.+-]*)$", done.stdout, re.M)

    def download(self, packages: list[str], into: Path, log: Path) -> list[Path]:
        """Downloads packages and checks them against the suite's signed lists. Returns the files. Raises VmError."""
        run_shown(f"downloading {' '.join(packages)}", ["apt-get", *self._options, "-q", "download", *packages], log,
                  _DOWNLOAD_LIMIT_S, into)
        return sorted(into.glob("*.deb"))


def _mirror() -> str:
    """Returns the mirror that this system uses for Debian's main archive."""
    try:
        asked = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages",
                                "Label: Debian"], capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise VmError("apt-get: not found; the VM's kernel comes from Debian's packages") from missing
    found = asked.stdout.split()
    return found[0].rstrip("/") if found else _MIRROR
