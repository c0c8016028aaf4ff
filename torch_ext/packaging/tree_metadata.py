"""Writes the metadata of the Python package beside its files in the build folder, as an installer does. With it, torch
and importlib.metadata find the package where it is only built."""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path


def entry_points(project: dict) -> str:
    """The text of entry_points.txt for the table `project` of pyproject.toml."""
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    return "\n".join("\n".join([f"[{group}]", *(f"{name} = {where}" for name, where in named.items()), ""])
                     for group, named in groups.items())


def main() -> None:
    """Arguments: pyproject.toml, the package's version, the folder that holds the package."""
    pyproject, version, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    name = project["name"]
    for old in folder.glob(f"{name}-*.dist-info"):
        shutil.rmtree(old)
    place = folder / f"{name}-{version}.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    (place / "entry_points.txt").write_text(entry_points(project), encoding="utf-8")


if __name__ == "__main__":
    main()
