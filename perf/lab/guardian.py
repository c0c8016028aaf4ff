"""A second process that tears the lab down when the first one ends, for any cause: done, Ctrl-C, crash or SIGKILL.

The lab holds a pipe and writes one line per session: "+SID" when started, "-SID" when reaped. End of file orders the
teardown, so there is one teardown for every cause. The guardian kills only processes of those sessions and processes
left in the lab's own namespaces."""
from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from .iproute import CommandError, ip, namespaces, pids_in
from .plan import Plan
from .state import Claim

_GRACE_S = 2.0
# Signals that ask a lab to end. SIGALRM is its own timeout.
kStopping = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


class Guardian:
    """Starts before any namespace exists. release() orders the teardown, wait() waits for its end."""

    def __init__(self, plan: Plan, claim: Claim) -> None:
        read_end, self._pipe = os.pipe2(os.O_CLOEXEC)
        # Signals are blocked: a signal to the whole process group would end the guardian too, before it has its own
        # session.
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
        """Records that a session is reaped. REQUIRES: the kernel cannot have reused `sid` yet."""
        os.write(self._pipe, f"-{sid}\n".encode())

    def release(self) -> None:
        """Orders the teardown. wait() waits for its end."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def wait(self) -> bool:
        """Waits for the teardown. Returns whether everything was torn down."""
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
    """Returns the living processes of these sessions, without zombies. A rank may have put some into other process
    groups."""
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
    while left:  # until none is found: a process may fork while /proc is being read
        _signal(left, signal.SIGKILL)
        time.sleep(0.002)
        left = _living(sessions)


def _remove_namespaces(plan: Plan) -> None:
    existing = set(namespaces()) if plan.namespaces() else set()
    for ns in plan.namespaces():
        if ns not in existing:
            continue
        try:
            for pid in pids_in(ns):  # left its process group; would keep the namespace and its NICs alive
                os.kill(pid, signal.SIGKILL)
        except (CommandError, ProcessLookupError):
            pass
        ip("netns", "del", ns)
