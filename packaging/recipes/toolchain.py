"""zig's clang as a compiler for a target, from a virtual environment of its own."""

from __future__ import annotations

import hashlib
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from recipes import commands, places
from recipes.targets import Target

_TOOLS = places.WORK / "tools"
_REQUIREMENTS = places.PACKAGING / "requirements.txt"

# The compiler writes no path of this machine into a file: a source's path begins at the repository's root.
# zig's caches stay in the build folder. zig defines NDEBUG with -O2; Railweave's assertions stay on (decision 24).
_WRAPPER = """#!/bin/sh
export ZIG_GLOBAL_CACHE_DIR='{cache}' ZIG_LOCAL_CACHE_DIR='{cache}'
exec '{zig}' {command} "$@"
"""
_COMPILE = "-target {target.zig} -ffile-prefix-map='{root}/'= -fno-sanitize=all -UNDEBUG"


@dataclass(frozen=True)
class Toolchain:
    """The programs zig-cc, zig-c++, zig-ar and zig-ranlib of a folder."""

    target: Target
    folder: Path
    identity: str  # another one compiles otherwise: what was compiled before does not fit


def tools_python() -> Path:
    """Returns the Python of a virtual environment with packaging/requirements.txt. Errors: CommandFailed."""
    mark = _TOOLS / "requirements.txt"
    python = _TOOLS / "bin" / "python"
    if not mark.exists() or mark.read_text() != _REQUIREMENTS.read_text():
        shutil.rmtree(_TOOLS, ignore_errors=True)
        commands.run("making the tools' environment", [sys.executable, "-m", "venv", _TOOLS])
        commands.run("installing the tools", [python, "-m", "pip", "--disable-pip-version-check", "install",
                                              "--only-binary", ":all:", "-r", _REQUIREMENTS])
        mark.write_text(_REQUIREMENTS.read_text())
    return python


def zig_folder() -> Path:
    """Returns the folder of zig, with its libraries and licences."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return _TOOLS / "lib" / version / "site-packages" / "ziglang"


def _write_wrapper(path: Path, command: str) -> None:
    """Leaves an equal file alone: ccache and CMake see a compiler's time."""
    text = _WRAPPER.format(cache=places.WORK / "zig-cache", zig=zig_folder() / "zig", command=command)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    path.chmod(0o755)


def toolchain(target: Target) -> Toolchain:
    """Returns the compiler for a target. Errors: CommandFailed."""
    tools_python()
    folder = places.WORK / target.machine / "toolchain"
    folder.mkdir(parents=True, exist_ok=True)
    flags = _COMPILE.format(target=target, root=places.ROOT)
    for name, command in (("zig-cc", f"cc {flags}"), ("zig-c++", f"c++ {flags}"), ("zig-ar", "ar"),
                          ("zig-ranlib", "ranlib")):
        _write_wrapper(folder / name, command)
    identity = hashlib.sha256((_REQUIREMENTS.read_text() + flags).encode()).hexdigest()
    return Toolchain(target, folder, identity)
