"""Makes every package of a machine out of a stage: the wheel, the Debian packages and the tarballs."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

from recipes import contents, debs, elf, licences, native, places, project, tarballs, wheels
from recipes.contents import Entry
from recipes.sources import Source
from recipes.targets import Target
from recipes.toolchain import zig_folder


class UnfitFile(Exception):
    """A built file would not run on every system that its package is for."""


@dataclass(frozen=True)
class Stage:
    """What packages are made of."""

    target: Target
    folder: Path  # as native.build returns
    third_party: str  # licences of what is linked in
    time: int  # of every file in a package, in seconds since 1970


def stage(target: Target, sources: dict[str, Source]) -> Stage:
    """Builds and checks the files of a machine. Errors: CommandFailed, UnfitFile."""
    folder = native.build(target, sources)
    check(folder)
    return Stage(target, folder, licences.linked_in(list(sources.values()), zig_folder()), project.commit_time())


def check(folder: Path) -> None:
    """Errors: UnfitFile, with every problem of every file."""
    found = []
    for name in native.SHIPPED:
        file = folder / name
        found += [f"{name} {problem}" for problem in elf.problems(elf.needs_of(file), plugin=name.endswith(".so"))]
        if str(places.ROOT).encode() in file.read_bytes():
            found.append(f"{name} names the folder of the build; compile with -ffile-prefix-map")
    if found:
        raise UnfitFile("\n".join(found))


def wheel(made: Stage) -> Path:
    """Returns the wheel `railweave`: all Python, the plugin, the programs, and the files for clusters."""
    entries = contents.tracked("torch_ext/railweave", "railweave")
    entries += contents.shipped(made.folder, {"bin": "railweave/bin", "lib": "railweave/lib"})
    entries += contents.tracked("deploy", "railweave/deploy")
    return wheels.write(project.wheel_of_railweave(project.pyproject(), project.remote()),
                        f"py3-none-{made.target.wheel_platform}", entries, licence=licences.own(),
                        third_party=made.third_party, time=made.time)


def deb(made: Stage) -> list[Path]:
    """Returns the packages `railweave` and `railweave-dbg`."""
    copyright_text = f"{licences.own()}\n{made.third_party}"
    changelog = (places.ROOT / "CHANGELOG.md").read_bytes()
    entries = contents.shipped(made.folder, {"bin": "usr/bin", "lib": f"usr/lib/{made.target.triplet}"})
    entries += contents.tracked("deploy", "usr/share/railweave/deploy")
    entries += [Entry("usr/share/doc/railweave/copyright", copyright_text.encode()),
                Entry("usr/share/doc/railweave/changelog.gz", gzip.compress(changelog, mtime=0))]
    debug = contents.debug_files(made.folder, "usr/lib/debug")
    debug.append(Entry("usr/share/doc/railweave-dbg/copyright", copyright_text.encode()))
    return [debs.write("railweave", made.target, entries, made.time),
            debs.write("railweave-dbg", made.target, debug, made.time)]


def tarball(made: Stage) -> list[Path]:
    """Returns the tarball of the plugin and the programs, and that of their debug information."""
    name = f"railweave-{project.version()}-linux-{made.target.machine}"
    entries = contents.shipped(made.folder, {"bin": "bin", "lib": "lib"})
    entries += contents.tracked("deploy", "share/railweave/deploy")
    entries += [Entry("LICENSE", licences.own().encode()), Entry(wheels.THIRD_PARTY, made.third_party.encode())]
    paths = [places.OUT / f"{name}.tar.gz", places.OUT / f"{name}-debug.tar.gz"]
    tarballs.write(paths[0], name, entries, made.time)
    tarballs.write(paths[1], name, contents.debug_files(made.folder, "lib/debug"), made.time)
    return paths
