"""Writes the two wheels."""

from __future__ import annotations

import zipfile
from pathlib import Path
from time import gmtime
from typing import Any

import pyproject_metadata
from wheel.wheelfile import WheelFile

from recipes import places
from recipes.contents import Entry

THIRD_PARTY = "THIRD_PARTY_LICENSES"
_WHEEL = """Wheel-Version: 1.0
Generator: packaging/dist
Root-Is-Purelib: false
Tag: {tag}
"""


def _metadata(project: dict[str, Any]) -> tuple[bytes, bytes]:
    """Returns the files METADATA and entry_points.txt. Errors: pyproject_metadata.ConfigurationError."""
    given = pyproject_metadata.StandardMetadata.from_pyproject(project, places.ROOT, metadata_version="2.4")
    message = given.as_rfc822()
    message["License-File"] = THIRD_PARTY
    groups = {"console_scripts": given.scripts, **given.entrypoints}
    points = "\n".join("\n".join([f"[{group}]", *(f"{name} = {place}" for name, place in sorted(points.items())), ""])
                       for group, points in sorted(groups.items()) if points)
    return bytes(message), points.encode()


def _info(name: str, executable: bool, time: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, date_time=gmtime(time)[:6])
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (0o100755 if executable else 0o100644) << 16
    return info


def write(project: dict[str, Any], tag: str, entries: list[Entry], *, licence: str, third_party: str,
          time: int) -> Path:
    """Returns the wheel's file in build/dist. `time`: of its files, in seconds since 1970; the caller sets
    SOURCE_DATE_EPOCH to the same, for the file RECORD. Errors: ConfigurationError, for ill-formed metadata."""
    metadata, points = _metadata(project)
    name = project["project"]["name"].replace("-", "_")
    version = project["project"]["version"]
    information = f"{name}-{version}.dist-info"
    path = places.OUT / f"{name}-{version}-{tag}.whl"
    path.unlink(missing_ok=True)
    own = [Entry(f"{information}/licenses/LICENSE", licence.encode()),
           Entry(f"{information}/licenses/{THIRD_PARTY}", third_party.encode()),
           Entry(f"{information}/METADATA", metadata),
           Entry(f"{information}/WHEEL", _WHEEL.format(tag=tag).encode())]
    if points:
        own.append(Entry(f"{information}/entry_points.txt", points))
    with WheelFile(path, "w") as wheel:
        for entry in [*sorted(entries, key=lambda entry: entry.name), *own]:
            wheel.writestr(_info(entry.name, entry.executable, time), entry.content)
    return path
