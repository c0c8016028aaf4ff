"""The command line of packaging/dist."""

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


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="packaging/dist",
        description="Makes the packages in build/dist and checks them in clean systems, as root.")
    parser.add_argument("steps", nargs="*", metavar="STEP", default=["build", "extension", "sdist", "check"],
                        help="build (plugin and programs), extension (railweave-torch), sdist, check; default: all")
    parser.add_argument("--machine", choices=[target.machine for target in TARGETS], action="append",
                        help="build for this machine alone")
    args = parser.parse_args(words)
    for step in args.steps:
        if step not in ("build", "extension", "sdist", "check"):
            parser.error(f"{step}: expected build, extension, sdist or check")
    return args


def _build(machines: list[str] | None, sources: dict[str, pinned.Source]) -> list[Path]:
    made = []
    for target in TARGETS:
        if machines is None or target.machine in machines:
            stage = packages.stage(target, sources)
            made += [packages.wheel(stage), *packages.deb(stage), *packages.tarball(stage)]
    return made


def main(words: list[str]) -> int:
    args = _arguments(words)
    os.environ["SOURCE_DATE_EPOCH"] = str(project.commit_time())  # the package `wheel` reads this variable
    try:
        made = []
        sources = pinned.get_all()
        if "build" in args.steps:
            made += _build(args.machine, sources)
        if "extension" in args.steps:
            made += extension.wheel(sources)
        if "sdist" in args.steps:
            made.append(sdist.write())
        for path in made:
            print(f"dist: {path.relative_to(places.ROOT)}, {path.stat().st_size} bytes", flush=True)
        if "check" in args.steps and not battery.run():
            print("dist: some checks failed; packaging/result.txt lists them", file=sys.stderr)
            return 1
    except _ERRORS as error:
        print(f"dist: {error}", file=sys.stderr)
        return 1
    return 0
