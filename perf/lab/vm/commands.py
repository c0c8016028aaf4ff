"""Runs a command of the setup with its output in a log, and shows that the command is still running."""
from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from .errors import VmError

_TICK_S = 0.2
_SHOW_ON_TERMINAL_S, _SHOW_ELSEWHERE_S = 1.0, 15.0
_LAST_LINES = 8
_END_S = 10.0


def say(line: str) -> None:
    print(f"vm: {line}", file=sys.stderr, flush=True)


def run_shown(what: str, argv: list[str], log: Path, limit_s: float, folder: Path | None = None) -> None:
    """Runs a command to its end. Raises VmError with the log's last lines if the command fails or takes longer than
    `limit_s`."""
    say(what)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       cwd=folder, env=environment)
        except FileNotFoundError as missing:
            raise VmError(f"{argv[0]}: not found; the VM's setup needs a Debian system") from missing
        try:
            _wait(process, what, limit_s)
        finally:
            _end(process)
    if process.returncode != 0:
        raise VmError(f"{what}: `{' '.join(argv)}` ended with status {process.returncode}:\n{_last_lines(log)}")


def _wait(process: subprocess.Popen, what: str, limit_s: float) -> None:
    began = shown = time.monotonic()
    terminal = sys.stderr.isatty()
    while process.poll() is None:
        time.sleep(_TICK_S)
        now = time.monotonic()
        if now - began > limit_s:
            raise VmError(f"{what}: not done within {limit_s:.0f} s; is a Debian mirror reachable?")
        if now - shown >= (_SHOW_ON_TERMINAL_S if terminal else _SHOW_ELSEWHERE_S):
            shown = now
            line = f"vm: {what}, {now - began:.0f} s"
            print(f"\r{line}" if terminal else line, end="" if terminal else "\n", file=sys.stderr, flush=True)
    if terminal and shown != began:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _end(process: subprocess.Popen) -> None:
    """Ends the process if it still runs. apt-get has time to leave Debian's package database whole."""
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _last_lines(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return "\n".join(lines[-_LAST_LINES:])
