"""The file to move: the user's, or else some hundred MB of real files, this machine's compiler, packed together."""
from __future__ import annotations

import glob
import os
import tarfile
from pathlib import Path
from typing import Callable

_WANTED_BYTES = 600_000_000
_LEAST_BYTES = 100_000_000
_PLACES = ("/usr/lib/gcc/*/*", "/usr/lib/llvm-*/lib", "/usr/lib/llvm-*/bin", "/usr/libexec/gcc/*/*", "/usr/bin",
           "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64")


class NoFile(RuntimeError):
    """There is nothing to move. The message has a remedy."""


def _candidates() -> list[Path]:
    """Returns regular files: those of the compilers first, then those of the machine's programs and libraries. Each
    file once, in a fixed order."""
    seen: set[tuple[int, int]] = set()
    found = []
    for pattern in _PLACES:
        for place in sorted(glob.glob(pattern)):
            for folder, folders, names in os.walk(place):
                folders.sort()
                for name in sorted(names):
                    path = Path(folder, name)
                    if path.is_symlink() or not path.is_file() or not os.access(path, os.R_OK):
                        continue
                    status = path.stat()
                    if (status.st_dev, status.st_ino) not in seen:
                        seen.add((status.st_dev, status.st_ino))
                        found.append(path)
    return found


def size_text(size: int) -> str:
    """Formats with three digits: 812 B, 4.62 kB, 600 MB."""
    value, units = float(size), ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{size} B" if units[0] == "B" else f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {units[0]}"


def pack(cache: Path, say: Callable[[str], None]) -> Path:
    """Packs the files once into `cache` and reuses the result later. Raises NoFile, OSError."""
    path = cache / "compiler.tar"
    if path.exists() and path.stat().st_size >= _LEAST_BYTES:
        return path
    say(f"packing some {size_text(_WANTED_BYTES)} of this machine's compilers into {path} ...")
    cache.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    packed = 0
    with tarfile.open(partial, "w") as tar:
        for file in _candidates():
            if packed >= _WANTED_BYTES:
                break
            tar.add(file, recursive=False)
            packed += file.stat().st_size
    if packed < _LEAST_BYTES:
        partial.unlink()
        raise NoFile(f"only {size_text(packed)} of compilers and libraries here; name a file: "
                     "make demo-net FILE=/path/to/it")
    partial.replace(path)
    return path


def choose(wanted: str | None, cache: Path, say: Callable[[str], None]) -> Path:
    """Returns the file. Calls `say` before slow work. Raises NoFile, OSError."""
    if wanted is None:
        return pack(cache, say)
    path = Path(wanted).resolve()
    if not path.is_file() or path.stat().st_size == 0:
        raise NoFile(f"{wanted}: expected a file that is not empty")
    return path
