"""Writes a compressed tar archive whose bytes depend on its files alone."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

from recipes.contents import Entry


def write(path: Path, folder: str, entries: list[Entry], time: int) -> None:
    """Writes `entries` below `folder`. `time`: of every file, in seconds since 1970."""
    path.unlink(missing_ok=True)
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=time) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in sorted(entries, key=lambda entry: entry.name):
            info = tarfile.TarInfo(f"{folder}/{entry.name}")
            info.size = len(entry.content)
            info.mode = 0o755 if entry.executable else 0o644
            info.mtime = time
            info.uname = info.gname = "root"
            archive.addfile(info, io.BytesIO(entry.content))
