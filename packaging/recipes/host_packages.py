"""Installs the Debian packages of packaging/packages.txt that are missing."""

from __future__ import annotations

import os

from recipes import commands, places


def named(text: str) -> list[str]:
    """Returns the packages that a packages.txt names."""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _installed(package: str) -> bool:
    try:
        return commands.output_of(["dpkg-query", "-W", "-f=${db:Status-Status}", package]) == "installed"
    except commands.CommandFailed:
        return False


def install_missing() -> None:
    """Errors: CommandFailed, also without root."""
    missing = [package for package in named((places.PACKAGING / "packages.txt").read_text())
               if not _installed(package)]
    if not missing:
        return
    if os.geteuid() != 0:
        raise commands.CommandFailed("these packages are missing and installing them needs root; run:\n  sudo apt-get "
                                     f"update && sudo apt-get install -y --no-install-recommends {' '.join(missing)}")
    print(f"dist: installing the Debian packages {' '.join(missing)}", flush=True)
    settings = {"DEBIAN_FRONTEND": "noninteractive"}
    commands.run("reading package lists", ["apt-get", "-q", "update"], settings=settings)
    commands.run("installing packages", ["apt-get", "-q", "install", "-y", "--no-install-recommends", *missing],
                 settings=settings)
