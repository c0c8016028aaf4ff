"""Downloads the sources of packaging/sources.toml, checks them, and unpacks them."""

from __future__ import annotations

import hashlib
import shutil
import tomllib
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from recipes import commands, places

_TIMEOUT_S = 60
_BYTES_MAX = 64 << 20


class SourceFailed(Exception):
    """A source could not be had, or is another than the pinned one."""


@dataclass(frozen=True)
class Source:
    name: str
    url: str
    sha256: str
    licences: tuple[str, ...]  # files of the source

    @property
    def file(self) -> Path:
        return places.CACHE / "sources" / self.url.rsplit("/", 1)[1]

    @property
    def folder(self) -> Path:
        return places.WORK / "sources" / self.name


def pinned(text: str) -> list[Source]:
    """Returns the sources that a sources.toml names."""
    return [Source(name, entry["url"], entry["sha256"], tuple(entry["licences"]))
            for name, entry in tomllib.loads(text).items()]


def check(source: Source, content: bytes) -> None:
    """Errors: SourceFailed, if the content is not the pinned one."""
    found = hashlib.sha256(content).hexdigest()
    if found != source.sha256:
        raise SourceFailed(f"{source.url}: found sha256 {found}, expected {source.sha256} (packaging/sources.toml)")


def _download(source: Source) -> bytes:
    try:
        with urllib.request.urlopen(source.url, timeout=_TIMEOUT_S) as answer:
            content = answer.read(_BYTES_MAX + 1)
    except (OSError, urllib.error.URLError) as error:
        raise SourceFailed(f"{source.url}: {error}; packaging/sources.toml says what to do when a version is gone"
                           ) from error
    if len(content) > _BYTES_MAX:
        raise SourceFailed(f"{source.url}: more than {_BYTES_MAX} bytes; packaging/recipes/sources.py has the bound")
    return content


def _fetch(source: Source) -> None:
    """Puts the source into the cache. A cached file is checked, too."""
    if source.file.exists():
        check(source, source.file.read_bytes())
        return
    content = _download(source)
    check(source, content)
    source.file.parent.mkdir(parents=True, exist_ok=True)
    part = source.file.with_suffix(".part")
    part.write_bytes(content)
    part.rename(source.file)


def _unpack(source: Source) -> None:
    """Leaves an unpacked source of the pinned checksum alone."""
    mark = source.folder / ".sha256"
    if mark.exists() and mark.read_text() == source.sha256:
        return
    shutil.rmtree(source.folder, ignore_errors=True)
    source.folder.mkdir(parents=True)
    if source.file.suffix == ".deb":
        words = ["dpkg-deb", "--extract", source.file, source.folder]
    else:
        words = ["tar", "--extract", "--no-same-owner", "--strip-components=1", f"--file={source.file}",
                 f"--directory={source.folder}"]
    commands.run(f"unpacking {source.name}", words)
    mark.write_text(source.sha256)


def get_all() -> dict[str, Source]:
    """Returns every pinned source by its name, unpacked. Errors: SourceFailed, CommandFailed."""
    found = pinned((places.PACKAGING / "sources.toml").read_text())
    for source in found:
        _fetch(source)
        _unpack(source)
    return {source.name: source for source in found}
