"""Packages of another machine, run by qemu-user on this one."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

from recipes import commands, project
from recipes.targets import Target
from checks.nccl_section import compared
from checks.systems import CheckFailed, System


def _emulated(target: Target, program: Path, words: list[str]) -> list[str]:
    return [f"qemu-{target.machine}-static", "-L", f"/usr/{target.triplet}", str(program), *words]


def unpack(target: Target, kind: str, packages: Path, folder: Path) -> tuple[Path, Path]:
    """Unpacks a package below `folder`; returns its program folder and its plugin. `kind`: deb, tarball or wheel.
    Errors: CommandFailed, OSError."""
    version = project.version()
    plugin = "libnccl-net-railweave.so"
    if kind == "deb":
        commands.output_of(["dpkg-deb", "--extract", packages / f"railweave_{version}_{target.debian}.deb", folder])
        return folder / "usr/bin", folder / "usr/lib" / target.triplet / plugin
    if kind == "tarball":
        name = f"railweave-{version}-linux-{target.machine}"
        with tarfile.open(packages / f"{name}.tar.gz") as archive:
            archive.extractall(folder)
        return folder / name / "bin", folder / name / "lib" / plugin
    with zipfile.ZipFile(packages / f"railweave-{version}-py3-none-{target.wheel_platform}.whl") as archive:
        archive.extractall(folder)
    programs = folder / "railweave" / "bin"
    for program in programs.iterdir():
        program.chmod(0o755)  # as pip does
    return programs, folder / "railweave" / "lib" / plugin


def check(system: System, target: Target, kind: str, packages: Path) -> str:
    """The program finds the plugin, `info` runs, and the plugin loads and carries messages between two emulated
    processes, by shared memory. Returns a line of what was seen. Errors: CheckFailed, CommandFailed."""
    programs, plugin = unpack(target, kind, packages, Path(system.home) / kind)
    settings = {"RAILWEAVE_RAILS": "lo", "RAILWEAVE_SHM": "on"}  # qemu lacks a socket option that TCP lanes set
    railweave = programs / "railweave"
    if system.run(_emulated(target, railweave, ["path"])).strip() != str(plugin):
        raise CheckFailed(f"railweave path: expected {plugin}")
    if "lo" not in system.run(_emulated(target, railweave, ["info"]), settings):
        raise CheckFailed("railweave info: expected the interface lo")
    output = system.run(_emulated(target, programs / "railweave-net-perf",
                                  ["--local", "--verify", "--duration", "2", "--size", "64K"]), settings)
    return f"info runs; {compared(output)} messages compared, by shared memory"
