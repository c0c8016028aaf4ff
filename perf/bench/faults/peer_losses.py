"""The five real or apparent losses of a peer (R2), as signals and changes of a lab."""
from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from lab import faults
from lab.plan import Plan


@dataclass(frozen=True)
class Loss:
    what: str
    by: signal.Signals | None  # sent to one of the ranks; None: the cables of all rails are pulled
    lasts_s: float | None  # None: for ever
    error_after: str | None  # variable that sets the delay of the error; None: no error, or at once
    default_s: float = 0.0  # of that variable

    @property
    def is_cable(self) -> bool:
        return self.by is None

    @property
    def can_be_undone(self) -> bool:
        return self.by is not signal.SIGKILL

    @property
    def is_error(self) -> bool:
        return self.lasts_s is None


kLosses = {
    "kill": Loss("SIGKILL", signal.SIGKILL, None, None),
    "stop": Loss("SIGSTOP for 5 s", signal.SIGSTOP, 5.0, None),
    "stop-for-ever": Loss("SIGSTOP for ever", signal.SIGSTOP, None, "RAILWEAVE_STALL_TIMEOUT", 60.0),
    "cable": Loss("all cables pulled for 5 s", None, 5.0, None),
    "cable-for-ever": Loss("all cables pulled for ever", None, None, "RAILWEAVE_PEER_TIMEOUT", 10.0),
}


def happen(loss: Loss, plan: Plan, nics: list[int], pid: int) -> None:
    """Applies the loss to process `pid`, or to these NICs of every host."""
    if loss.by is not None:
        os.kill(pid, loss.by)
        return
    for nic in nics:
        faults.cut(plan.hosts[0].nics[nic])


def undo(loss: Loss, plan: Plan, nics: list[int], pid: int) -> None:
    if loss.by is not None:
        os.kill(pid, signal.SIGCONT)
        return
    for nic in nics:
        for host in plan.hosts:
            faults.restore(plan, host, host.nics[nic])
