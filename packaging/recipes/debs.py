"""Writes Debian packages: `railweave`, and `railweave-dbg` with debug information."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from recipes import commands, places, project
from recipes.contents import Entry
from recipes.targets import GLIBC, Target

_CONTROL = """Package: {package}
Version: {version}
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {kibibytes}
Depends: {depends}
Section: net
Priority: optional
Description: {summary}
{text}"""
_TEXT = """ Railweave is an NCCL network plugin that uses all NICs of a host for every
 connection, and carries on when a NIC fails. `railweave info` says which
 interfaces are used, and why the others are not.
"""
_DEBUG_TEXT = """ This package has the debug information that debuggers look for by build ID.
"""


def control(package: str, version: str, target: Target, entries: list[Entry]) -> str:
    """Returns the file DEBIAN/control of one of the two packages."""
    debug = package.endswith("-dbg")
    kibibytes = sum(-(-len(entry.content) // 1024) for entry in entries)
    return _CONTROL.format(
        package=package, version=version, architecture=target.debian, maintainer=project.AUTHOR, kibibytes=kibibytes,
        depends=f"railweave (= {version})" if debug else f"libc6 (>= {GLIBC[0]}.{GLIBC[1]})",
        summary="debug information of railweave" if debug else "NCCL network plugin for plain Ethernet",
        text=_DEBUG_TEXT if debug else _TEXT)


def _lay_out(folder: Path, entries: list[Entry], control_text: str, time: int) -> None:
    """Writes what dpkg-deb packs. Every file and folder gets the same time."""
    sums = []
    for entry in entries:
        file = folder / entry.name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(entry.content)
        file.chmod(0o755 if entry.executable else 0o644)
        sums.append(f"{hashlib.md5(entry.content, usedforsecurity=False).hexdigest()}  {entry.name}\n")
    (folder / "DEBIAN").mkdir()
    (folder / "DEBIAN" / "control").write_text(control_text)
    (folder / "DEBIAN" / "md5sums").write_text("".join(sorted(sums)))
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, (time, time))


def write(package: str, target: Target, entries: list[Entry], time: int) -> Path:
    """Returns the package's file in build/dist. `time`: of its files, in seconds since 1970. Errors: CommandFailed."""
    version = project.version()
    folder = places.WORK / target.machine / package
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _lay_out(folder, entries, control(package, version, target, entries), time)
    path = places.OUT / f"{package}_{version}_{target.debian}.deb"
    commands.run(f"packing {path.name}", ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", folder, path],
                 settings={"SOURCE_DATE_EPOCH": str(time)})
    return path
