"""A second process that tears the lab down when the first one ends, whatever ends it: done, Ctrl-C, crash or SIGKILL.

The lab holds a pipe and writes one line per session it starts ("+SID") and reaps ("-SID"). End of file is the order to
tear down, so there is one teardown for every way to end. It kills only what is in those sessions, and what is left
inside the lab's own namespaces.
"""
from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from .iproute import CommandError, ip, namespaces, pids_in
from .plan import Plan
from .state import Claim

_GRACE_S = 2.0
# What asks a lab to end; SIGALRM is its own timeout.
kStopping = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


class Guardian:
    """Started before any namespace exists; close() tears down and waits for it."""

    def __init__(self, plan: Plan, claim: Claim) -> None:
        read_end, self._pipe = os.pipe2(os.O_CLOEXEC)
        # Signals are blocked: one to the whole process group would end the guardian, too,
        # before it has a session of its own.
        old = signal.pthread_sigmask(signal.SIG_BLOCK, kStopping)
        self._pid = os.fork()
        if self._pid == 0:
            status = 1
            try:
                os.close(self._pipe)
                _guard(read_end, plan, claim)
                status = 0
            finally:
                os._exit(status)
        signal.pthread_sigmask(signal.SIG_SETMASK, old)
        os.close(read_end)

    def started(self, sid: int) -> None:
        os.write(self._pipe, f"+{sid}\n".encode())

    def reaped(self, sid: int) -> None:
        """To be called while `sid` cannot have been given to anyone else yet."""
        os.write(self._pipe, f"-{sid}\n".encode())

    def release(self) -> None:
        """Orders the teardown; wait() sees its end."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def wait(self) -> bool:
        """Whether everything was torn down."""
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1]) == 0


def _guard(pipe: int, plan: Plan, claim: Claim) -> None:
    os.setsid()
    for number in (*kStopping, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, kStopping)
    sessions: set[int] = set()
    with os.fdopen(pipe) as lines:
        for line in lines:
            (sessions.add if line[0] == "+" else sessions.discard)(int(line[1:]))
    _end(sessions)
    _remove_namespaces(plan)
    claim.remove()


def _living(sessions: set[int]) -> list[int]:
    """Processes of these sessions; a rank may have put some into groups of their own. Without zombies."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = entry.read_text(errors="replace").rsplit(")", 1)[1].split()[:4]
        except OSError:
            continue  # ended meanwhile
        if int(session) in sessions and state != "Z":
            found.append(int(entry.parent.name))
    return found


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def _end(sessions: set[int]) -> None:
    _signal(_living(sessions), signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_S
    while (left := _living(sessions)) and time.monotonic() < deadline:
        time.sleep(0.02)
    while left:  # until a look finds none: one may have forked between the look and its end
        _signal(left, signal.SIGKILL)
        time.sleep(0.002)
        left = _living(sessions)


def _remove_namespaces(plan: Plan) -> None:
    existing = set(namespaces()) if plan.namespaces() else set()
    for ns in plan.namespaces():
        if ns not in existing:
            continue
        try:
            for pid in pids_in(ns):  # a process that left its group; it would keep the namespace and its NICs alive
                os.kill(pid, signal.SIGKILL)
        except (CommandError, ProcessLookupError):
            pass
        ip("netns", "del", ns)
