"""The files of a package before they are packed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from recipes import commands, native, places


@dataclass(frozen=True)
class Entry:
    """A file of a package."""

    name: str  # its place in the package
    content: bytes
    executable: bool = False


def tracked(folder: str, below: str) -> list[Entry]:
    """Returns the committed files of a folder of the repository, in a package's folder `below`; none if the repository
    has no such folder."""
    names = commands.output_of(["git", "ls-files", "-z", "--", folder]).split("\0")
    return [Entry(f"{below}/{Path(name).relative_to(folder)}", (places.ROOT / name).read_bytes(),
                  bool((places.ROOT / name).stat().st_mode & 0o100)) for name in names if name]


def shipped(stage: Path, below: dict[str, str]) -> list[Entry]:
    """Returns the plugin and the programs of a stage. `below`: a package's folder for `bin` and for `lib`."""
    entries = []
    for name in native.SHIPPED:
        kind, _, file = name.partition("/")
        entries.append(Entry(f"{below[kind]}/{file}", (stage / name).read_bytes(), kind == "bin"))
    return entries


def debug_files(stage: Path, below: str) -> list[Entry]:
    """Returns the files of debug information of a stage, in a package's folder `below`."""
    folder = stage / "lib" / "debug"
    return [Entry(f"{below}/{file.relative_to(folder)}", file.read_bytes())
            for file in sorted(folder.rglob("*.debug"))]
