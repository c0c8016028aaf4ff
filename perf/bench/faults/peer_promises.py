"""Checks net_perf's output against the promises of docs/operate/reliability.md for both ends when a peer is lost. Pure
functions.

Times are seconds of CLOCK_MONOTONIC, which all ranks of one machine share."""
from __future__ import annotations

import re
import signal
from dataclasses import dataclass, field
from statistics import median

from . import recovery
from .peer_losses import Loss

_NEVER_S = 100.0


@dataclass(frozen=True)
class End:
    """The end of one rank's net_perf."""

    pid: int
    status: int  # negative: killed by that signal
    lines: list[tuple[float, str]]  # output lines with times

    def first(self, pattern: str) -> float | None:
        return next((at_s for at_s, line in self.lines if re.search(pattern, line)), None)

    def error_at_s(self) -> float | None:
        """Returns when the caller got an error about the peer; None: no error, or the rank continued."""
        return self.first("ncclRemoteError") if self.status == 1 else None


@dataclass(frozen=True)
class Instants:
    lost_s: float
    took_s: float  # until the loss was complete
    undone_s: float  # if the loss can be undone


@dataclass
class Verdict:
    wrong: list[str] = field(default_factory=list)  # broken promises, in words
    wrong_bytes: int = 0
    error_s: list[float] = field(default_factory=list)  # from the loss until a rank got its error
    took_s: float = 0.0  # part of it until the loss was complete
    unnamed: int = 0  # errors without host and pid of the peer
    goes_on_s: float | None = None  # from the end of an outage until the receiver got bytes again
    warned_s: float | None = None  # until a warning named a peer that does not answer though its kernel does
    continued_s: float | None = None  # until a stopped rank got its error, once continued


def _goes_on_s(result: dict, undone_s: float) -> float | None:
    for found in recovery.bins(result):
        if found.end_s > undone_s and found.payload_bytes > 0:
            return found.end_s - undone_s
    return None


def _without_error(ends: list[End], at: Instants, document: dict | None) -> Verdict:
    found = Verdict([f"rank {rank} ended with status {end.status}" for rank, end in enumerate(ends) if end.status != 0])
    if document is None:
        found.wrong.append("nothing was measured")
        return found
    found.wrong_bytes = document["results"][0]["verify"]["errors"]
    found.goes_on_s = _goes_on_s(document["results"][0], at.undone_s)
    if found.wrong_bytes:
        found.wrong.append(f"{found.wrong_bytes} bytes are wrong")
    if found.goes_on_s is None:
        found.wrong.append("it does not go on")
    return found


def judged(loss: Loss, victim: int, ends: list[End], at: Instants, document: dict | None) -> Verdict:
    """`ends`: of both ranks. `victim`: rank that got the signal. `document`: net_perf's, of a transfer that
    continued."""
    if not loss.is_error:
        return _without_error(ends, at, document)
    found = Verdict(took_s=at.took_s)
    for rank, end in enumerate(ends):
        hit = not loss.is_cable and rank == victim
        if hit and not loss.can_be_undone:
            if end.status != -signal.SIGKILL:
                found.wrong.append(f"rank {rank} was to be killed and ended with status {end.status}")
            continue
        error_at_s, peer = end.error_at_s(), f"host{1 - rank} pid {ends[1 - rank].pid}"
        if error_at_s is None:
            found.wrong.append(f"rank {rank} got no error: status {end.status}")
            continue
        found.unnamed += end.first(f"WARN .*connection to {peer} lost") is None
        if hit:
            found.continued_s = error_at_s - at.undone_s
            continue
        found.error_s.append(error_at_s - at.lost_s)
        if not loss.is_cable and loss.can_be_undone:
            warned_s = end.first(f"WARN .*{peer} has not answered for")
            if warned_s is None:
                found.wrong.append(f"rank {rank} was not warned")
            else:
                found.warned_s = warned_s - at.lost_s
    return found


def _worst(values: list[float | None]) -> float:
    return max(_NEVER_S if value is None else value for value in values)


def summary(loss: Loss, timeouts_s: list[float], verdicts: list[Verdict]) -> dict:
    """`timeouts_s`: the plugin's in each trial, 0 if the error must come at once. A missing event counts as a hundred
    seconds."""
    found = {"trials": len(verdicts), "wrong": sum(bool(one.wrong) for one in verdicts)}
    if not loss.is_error:
        return {**found, "wrong_bytes": sum(one.wrong_bytes for one in verdicts),
                "goes_on_s": _worst([one.goes_on_s for one in verdicts])}
    errors = [seconds for one in verdicts for seconds in one.error_s] or [_NEVER_S]
    late = [(seconds - timeout_s, one.took_s) for one, timeout_s in zip(verdicts, timeouts_s, strict=True)
            for seconds in one.error_s]
    late = late or [(_NEVER_S, 0.0)]
    found |= {"errors": sum(len(one.error_s) for one in verdicts), "error_median_s": median(errors),
              "error_worst_s": max(errors), "late_least_s": min(seconds for seconds, _ in late),
              "late_worst_s": max(seconds - took_s for seconds, took_s in late),
              "unnamed": sum(one.unnamed for one in verdicts)}
    if not loss.is_cable and loss.can_be_undone:
        found |= {"warned_worst_s": _worst([one.warned_s for one in verdicts]),
                  "continued_worst_s": _worst([one.continued_s for one in verdicts])}
    return found
