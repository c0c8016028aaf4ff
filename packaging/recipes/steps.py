"""Runs the steps of packaging/dist."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import pyproject_metadata

from checks import battery
from recipes import extension, packages, places, project, sdist
from recipes import sources as pinned
from recipes.commands import CommandFailed
from recipes.targets import TARGETS

_ERRORS = (CommandFailed, pinned.SourceFailed, packages.UnfitFile, pyproject_metadata.ConfigurationError, ValueError)


def _begin(step: str) -> None:
    """Keeps the commit that a step's packages are made of, for the check."""
    places.WORK.mkdir(parents=True, exist_ok=True)
    (places.WORK / f"{step}.commit").write_text(project.commit())


def _commits() -> str:
    """Returns the commits of the packages in build/dist: one, if they were made by one run."""
    return ", ".join(sorted({file.read_text() for file in places.WORK.glob("*.commit")}))


def _build(machines: list[str] | None, sources: dict[str, pinned.Source]) -> list[Path]:
    made = []
    for target in TARGETS:
        if machines is None or target.machine in machines:
            stage = packages.stage(target, sources)
            made += [packages.wheel(stage), *packages.deb(stage), *packages.tarball(stage)]
    return made


def run(args: argparse.Namespace) -> int:
    """Returns the exit status. `args`: as arguments.parse() returns."""
    os.environ["SOURCE_DATE_EPOCH"] = str(project.commit_time())  # the package `wheel` reads this variable
    try:
        sources = pinned.get_all()
        recipes = {"build": lambda: _build(args.machine, sources), "extension": lambda: extension.wheel(sources),
                   "sdist": lambda: [sdist.write()]}
        for step in filter(args.steps.__contains__, recipes):
            _begin(step)
            for path in recipes[step]():
                print(f"dist: {path.relative_to(places.ROOT)}, {path.stat().st_size} bytes", flush=True)
        if "check" in args.steps and not battery.run(_commits()):
            print("dist: some checks failed; packaging/result.txt lists them", file=sys.stderr)
            return 1
    except _ERRORS as error:
        print(f"dist: {error}", file=sys.stderr)
        return 1
    return 0
