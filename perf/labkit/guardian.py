"""A second process that tears the lab down when the first one ends, whatever ends it: done, Ctrl-C, crash or SIGKILL.

The lab holds a pipe and writes one line per process group it starts ("+PGID") and reaps ("-PGID"). End of file is the order
to tear down, so there is one teardown for every way to end. It kills only those groups, and what is left inside the
lab's own namespaces.
"""
from __future__ import annotations

import os
import signal
import time

from .iproute import CommandError, ip, namespaces, pids_in
from .plan import Plan
from .state import Claim

_GRACE_S = 2.0


class Guardian:
    """Started before any namespace exists; close() tears down and waits for it."""

    def __init__(self, plan: Plan, claim: Claim) -> None:
        read_end, self._pipe = os.pipe2(os.O_CLOEXEC)
        self._pid = os.fork()
        if self._pid == 0:
            status = 1
            try:
                os.close(self._pipe)
                _guard(read_end, plan, claim)
                status = 0
            finally:
                os._exit(status)
        os.close(read_end)

    def started(self, pgid: int) -> None:
        os.write(self._pipe, f"+{pgid}\n".encode())

    def reaped(self, pgid: int) -> None:
        """To be called while `pgid` cannot have been given to anyone else yet."""
        os.write(self._pipe, f"-{pgid}\n".encode())

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
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.alarm(0)
    groups: set[int] = set()
    with os.fdopen(pipe) as lines:
        for line in lines:
            (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    _end_groups(groups)
    _remove_namespaces(plan)
    claim.remove()


def _signal_groups(groups: set[int], number: int) -> set[int]:
    alive = set()
    for pgid in groups:
        try:
            os.killpg(pgid, number)
            alive.add(pgid)
        except ProcessLookupError:
            pass
    return alive


def _end_groups(groups: set[int]) -> None:
    alive = _signal_groups(groups, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_S
    while alive and time.monotonic() < deadline:
        time.sleep(0.01)
        alive = _signal_groups(alive, 0)
    _signal_groups(alive, signal.SIGKILL)


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
