"""The licences of what is linked into the plugin and the programs, as one text."""

from __future__ import annotations

from pathlib import Path

from recipes import places
from recipes.sources import Source

_FROM_ZIG = {
    "libc++": "lib/libcxx/LICENSE.TXT",
    "libc++abi": "lib/libcxxabi/LICENSE.TXT",
    "libunwind": "lib/libunwind/LICENSE.TXT",
    "zig's compiler_rt": "LICENSE",
    "glibc's start files": "lib/libc/glibc/LICENSES",
}
_RULE = "-" * 80


def linked_in(sources: list[Source], zig: Path | None) -> str:
    """Returns the licences of the sources, each below the name of what has the licence. `zig`: zig's folder, for its
    libraries; None for files that another compiler made."""
    texts = [(source.name, source.folder / name) for source in sources for name in source.licences]
    texts += [(name, zig / path) for name, path in _FROM_ZIG.items()] if zig else []
    parts = ["The compiled files contain code or definitions of:\n"]
    parts += [f"{_RULE}\n{name}\n{_RULE}\n{path.read_text(encoding='utf-8', errors='replace').strip()}\n"
              for name, path in texts]
    return "\n".join(parts)


def own() -> str:
    return (places.ROOT / "LICENSE").read_text(encoding="utf-8")
