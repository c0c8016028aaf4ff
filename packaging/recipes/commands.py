"""Runs the commands of a recipe, with their output in a log."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from recipes import places


class CommandFailed(Exception):
    """A command of a recipe failed. The message has the last lines of its output."""


def run(what: str, words: list[str | Path], *, cwd: Path = places.ROOT, settings: dict[str, str] | None = None,
        limit_s: float = 3600) -> None:
    """Runs a command and prints `what` with the seconds that it took. The log is `what` in build/dist/logs. `settings`
    are variables beside this process's own. Errors: CommandFailed."""
    places.LOGS.mkdir(parents=True, exist_ok=True)
    log = places.LOGS / (what.replace(" ", "_").replace("/", "_") + ".log")
    began = time.monotonic()
    with log.open("wb") as output:
        try:
            status = subprocess.run([str(word) for word in words], cwd=cwd, env={**os.environ, **(settings or {})},
                                    stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                    timeout=limit_s, check=False).returncode
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CommandFailed(f"{what}: {error}") from error
    if status != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-30:])
        place = log.relative_to(places.ROOT)
        raise CommandFailed(f"{what}: {words[0]} ended with {status}; {place} ends with:\n{tail}")
    print(f"dist: {what}, {time.monotonic() - began:.0f} s", flush=True)


def output_of(words: list[str | Path], *, cwd: Path = places.ROOT, limit_s: float = 120) -> str:
    """Returns what a command prints. Errors: CommandFailed."""
    try:
        done = subprocess.run([str(word) for word in words], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=limit_s, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandFailed(f"{words[0]}: {error}") from error
    if done.returncode != 0:
        raise CommandFailed(f"{words[0]} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout
