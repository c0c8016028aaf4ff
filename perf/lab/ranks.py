"""Starts the command once per rank, prefixes its output, and returns the worst exit status."""
from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .guardian import Guardian, kStopping

_OUTPUT_LOCK = threading.Lock()
_REAP_S = 4.0  # longer than the guardian's grace period
_DRAIN_S = 0.5
_LOOK_S = 0.2
_FAVOURED_NICE = -15


@dataclass
class Rank:
    """A process to start: the whole argument vector (namespace entry included), additions to the environment, a
    label."""

    argv: list[str]
    environment: dict[str, str]
    label: str
    favoured: bool = False  # preferred to everything else on this machine; see _favour()


def _pump(source: BinaryIO, prefix: bytes, sink: BinaryIO) -> None:
    for line in iter(source.readline, b""):
        with _OUTPUT_LOCK:
            try:
                sink.write(prefix + line + (b"" if line.endswith(b"\n") else b"\n"))
                sink.flush()
            except (BrokenPipeError, ValueError):
                pass  # the reader of our output has gone; the child must not block on it


def _exit_status(returncode: int) -> int:
    """Converts Popen's returncode to a shell's exit status: 128 + number for a signal."""
    return 128 - returncode if returncode < 0 else returncode


def _favour(pid: int) -> None:
    """Raises the scheduling weight of the session that `pid` leads. `nice` alone has no effect across sessions
    (autogroups)."""
    try:
        Path(f"/proc/{pid}/autogroup").write_text(str(_FAVOURED_NICE))
    except OSError:
        pass  # no autogroups in this kernel, or no privilege: only the measurement is worse


def _wait_for_end(pid: int) -> None:
    """Waits until this child of ours is a zombie. Python's signal handlers run meanwhile.

    Waits in intervals of bounded length. A signal between the interpreter's check and the system call does not
    interrupt the call, and its handler would otherwise run only after the next signal."""
    ended = os.pidfd_open(pid)
    try:
        while not select.select([ended], [], [], _LOOK_S)[0]:
            pass
    finally:
        os.close(ended)


class Ranks:
    """The running commands. Each leads its own session and process group."""

    def __init__(self, guardian: Guardian) -> None:
        self._guardian = guardian
        self._running: list[tuple[subprocess.Popen, Rank]] = []
        self._pumps: list[threading.Thread] = []

    def start(self, ranks: list[Rank]) -> None:
        """Starts all ranks. REQUIRES: called once. Raises OSError if a command cannot be started."""
        try:
            for rank in ranks:
                self._start(rank)
        finally:  # no thread before the last fork: the forked child could find a lock that is never released
            for process, rank in self._running:
                self._show_output(process, f"[{rank.label}] ".encode())

    def _start(self, rank: Rank) -> None:
        # Blocks signals between the fork and the guardian's notice; otherwise no one would end the new session.
        old = signal.pthread_sigmask(signal.SIG_BLOCK, kStopping)
        try:
            process = subprocess.Popen(
                rank.argv, env={**os.environ, **rank.environment}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, old) and None)
            self._guardian.started(process.pid)
            if rank.favoured:
                _favour(process.pid)
            self._running.append((process, rank))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old)

    def _show_output(self, process: subprocess.Popen, prefix: bytes) -> None:
        for source, sink in ((process.stdout, sys.stdout.buffer), (process.stderr, sys.stderr.buffer)):
            pump = threading.Thread(target=_pump, args=(source, prefix, sink), daemon=True)
            pump.start()
            self._pumps.append(pump)

    def wait(self) -> int:
        """Waits for all ranks. Returns the greatest exit status."""
        worst = 0
        for process, rank in self._running:
            _wait_for_end(process.pid)
            status = self._reap(process)
            if status != 0:
                with _OUTPUT_LOCK:
                    print(f"lab: {rank.label} ended with status {status}", file=sys.stderr, flush=True)
            worst = max(worst, status)
        self._join_pumps()
        return worst

    def _reap(self, process: subprocess.Popen) -> int:
        # The leader is still a zombie, so its group's number is still ours. Ends the rest of the group, then reaps the
        # leader.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._guardian.reaped(process.pid)
        return _exit_status(process.wait())

    def drain(self) -> None:
        """Reaps all ranks after the guardian ended them, and shows the rest of their output."""
        for process, _ in self._running:
            try:
                process.wait(timeout=_REAP_S)
            except subprocess.TimeoutExpired:
                pass
        self._join_pumps()

    def _join_pumps(self) -> None:
        """Waits for a bounded time: a detached process that holds the pipe may outlive the rank."""
        deadline = time.monotonic() + _DRAIN_S
        for pump in self._pumps:
            pump.join(max(0.0, deadline - time.monotonic()))
