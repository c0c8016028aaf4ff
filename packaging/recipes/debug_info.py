"""Moves a file's debug information into a file of its own, which debuggers find by the build ID."""

from __future__ import annotations

import re
from pathlib import Path

from recipes import commands

_BUILD_ID = re.compile(r"Build ID: ([0-9a-f]{8,})")


def build_id(notes: str) -> str:
    """Returns the build ID out of what `readelf --notes` prints. Errors: ValueError."""
    found = _BUILD_ID.search(notes)
    if not found:
        raise ValueError("found no build ID; link with -Wl,--build-id=sha1")
    return found[1]


def debug_file(identity: str) -> Path:
    """Returns where debuggers look below their folder, /usr/lib/debug on Debian."""
    return Path(".build-id") / identity[:2] / f"{identity[2:]}.debug"


def split(file: Path, folder: Path) -> None:
    """Strips `file`. Its debug information goes below `folder`. Errors: CommandFailed, ValueError."""
    apart = folder / debug_file(build_id(commands.output_of(["readelf", "--notes", "--wide", file])))
    apart.parent.mkdir(parents=True, exist_ok=True)
    commands.output_of(["llvm-objcopy", "--only-keep-debug", file, apart])
    commands.output_of(["llvm-objcopy", "--strip-unneeded", file])
    apart.chmod(0o644)
