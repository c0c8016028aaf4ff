"""Installs each package in a clean system and checks what the package promises."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

from recipes import commands, places, project
from recipes.targets import AARCH64, X86_64
from checks import nccl_section, other_machine, torch_section, two_hosts, wheel_tags
from checks.result import Outcome, text
from checks.systems import CheckFailed, System, debian, download_torch, this_machine

_RELEASES = {"debian-11": ("bullseye", []), "debian-12": ("bookworm", ["python3-venv"])}


class Battery:
    """Runs checks one after the other. A check that fails does not end the others."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []

    def run(self, name: str, check: Callable[[], str]) -> None:
        try:
            outcome = Outcome(name, check())
        except (CheckFailed, commands.CommandFailed, OSError, ValueError) as error:
            outcome = Outcome(name, "", str(error) or type(error).__name__)
        self.outcomes.append(outcome)
        print(f"{'FAIL' if outcome.problem else 'PASS'}  {name}  {outcome.problem or outcome.seen}", flush=True)


def _deb_in(system: System) -> str:
    system.run(["dpkg", "--install", f"{system.packages}/railweave_{project.version()}_{X86_64.debian}.deb"])
    seen = nccl_section.check(system)
    nccl_section.check_name(system)
    system.run(["dpkg", "--purge", "railweave"])
    return f"{seen}; the plugin loads by its name alone"


def _tarball_in(system: System) -> str:
    name = f"railweave-{project.version()}-linux-{X86_64.machine}"
    system.run(["tar", "--extract", f"--file={system.packages}/{name}.tar.gz", f"--directory={system.home}"])
    return nccl_section.check(system, f"{system.home}/{name}/bin")


def _wheel_in(system: System, venv: str) -> str:
    torch_section.install(system, venv, "railweave")
    return nccl_section.check(system, f"{venv}/bin")


def _torch_in(system: System, venv: str) -> str:
    torch_section.install(system, venv, "railweave[torch]")
    return torch_section.check(system, venv)


def _python_checks(battery: Battery, system: System) -> None:
    venv = f"{system.home}/venv"
    battery.run(f"{system.name}: wheel railweave, README's NCCL section", lambda: _wheel_in(system, venv))
    if system.root is None:
        battery.run(f"{system.name}: wheel railweave, two hosts of a lab", lambda: two_hosts.check(system, venv))
        battery.run(f"{system.name}: sdist, README's torch section", lambda: torch_section.check_sources(
            system, f"{system.home}/venv-of-sources", f"railweave-{project.version()}.tar.gz"))
    battery.run(f"{system.name}: both wheels, README's torch section", lambda: _torch_in(system, venv))
    battery.run(f"{system.name}: without railweave-torch", lambda: torch_section.check_without_extension(system, venv))
    battery.run(f"{system.name}: without railweave", lambda: torch_section.check_without_railweave(system, venv))


def _on_debian(battery: Battery, name: str) -> None:
    suite, include = _RELEASES[name]
    with debian(name, suite, include) as system:
        battery.run(f"{name}: .deb, README's NCCL section", lambda: _deb_in(system))
        battery.run(f"{name}: tarball, README's NCCL section", lambda: _tarball_in(system))
        if include:
            _python_checks(battery, system)


def _emulated(battery: Battery) -> None:
    with this_machine("qemu") as system:
        for kind in ("tarball", "deb", "wheel"):
            battery.run(f"{AARCH64.machine}, emulated: {kind}",
                        lambda kind=kind: other_machine.check(system, AARCH64, kind, places.OUT))


def packages() -> list[Path]:
    """Returns every package in build/dist."""
    return [path for path in places.OUT.iterdir() if path.is_file()]


def run(commit: str) -> bool:
    """Runs all checks, writes packaging/result.txt, and returns whether all passed. `commit`: of the packages. Errors:
    CommandFailed, if a clean system cannot be made."""
    battery = Battery()
    download_torch()
    for path in sorted(places.OUT.glob("*.whl")):
        battery.run(f"auditwheel: {path.name.split('-')[0]}, {path.stem.rsplit('-', 1)[1]}",
                    lambda path=path: wheel_tags.check(path))
    with this_machine("venv") as system:
        _python_checks(battery, system)
    for name in _RELEASES:
        _on_debian(battery, name)
    _emulated(battery)
    host = f"Linux {platform.release().split('-')[0]}, {platform.machine()}"
    page = text(commit, host, battery.outcomes, packages())
    (places.PACKAGING / "result.txt").write_text(page, encoding="utf-8")
    return not any(outcome.problem for outcome in battery.outcomes)
