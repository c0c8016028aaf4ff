"""Reports what limited each step of the last trace, as all ranks saw it."""

import json
import time
from collections import defaultdict
from pathlib import Path

import torch
import torch.distributed as dist

from railweave._chrome import boot
from railweave._extension import _C
from railweave._figures import SLOW_SHARE, by_step, figures, limit_of, memory_waits, steps_of, waited_for
from railweave._output import naming
from railweave._records import name_of
from railweave._trace import last_records

_QUESTIONS = 16  # clock readings requested from each rank; the fastest answer counts


def _gathered(own, size, group):
    """Returns the object of each rank, by rank."""
    if size == 1:
        return [own]
    all_ranks = [None] * size
    dist.all_gather_object(all_ranks, own, group=group)
    return all_ranks


def _clock_offset(group, rank, boots):
    """Returns the nanoseconds to add to this rank's CLOCK_MONOTONIC for rank 0's, and the possible error: half of the
    round trip."""
    if rank == 0:
        for other in range(1, len(boots)):
            if boots[other] != boots[0]:
                _send_offset(group, other)
        return 0, 0
    if boots[rank] == boots[0]:
        return 0, 0
    answer = torch.zeros(1, dtype=torch.int64)
    for _ in range(_QUESTIONS):
        dist.recv(torch.empty(1, dtype=torch.int64), group=group, group_src=0)
        answer.fill_(time.monotonic_ns())
        dist.send(answer, group=group, group_dst=0)
    found = torch.zeros(2, dtype=torch.int64)
    dist.recv(found, group=group, group_src=0)
    return int(found[0]), int(found[1])


def _send_offset(group, other):
    theirs, best = torch.zeros(1, dtype=torch.int64), None
    for _ in range(_QUESTIONS):
        asked = time.monotonic_ns()
        dist.send(theirs, group=group, group_dst=other)
        dist.recv(theirs, group=group, group_src=other)
        answered = time.monotonic_ns()
        if best is None or answered - asked < 2 * best[1]:
            best = ((asked + answered) // 2 - int(theirs), (answered - asked) // 2)
    dist.send(torch.tensor(best), group=group, group_dst=other)


def _weight(of_rank):
    """Sort key: first the wait for other ranks, if above SLOW_SHARE of the step, then the whole exposed time. The rank
    with the largest key makes the steps of other ranks as long."""
    others = of_rank["waited_for_others_s"]
    return others if others > SLOW_SHARE * of_rank["step_s"] else 0.0, of_rank["exposed_s"]


def _judge(ranks):
    """Returns (rank, its figures) of the rank by which a step is judged."""
    return max(enumerate(ranks), key=lambda numbered: _weight(numbered[1]))


class Steps(list):
    """One dict per step. As a str: a table in milliseconds, with the figures of the rank by which each step is
    judged."""

    def __str__(self):
        if not self:
            return "no steps: railweave.step() was not called within a railweave.trace()"
        columns = ("step_s", "compute_s", "exposed_s", "waited_for_others_s")
        lines = [" step  rank   step ms  compute ms  exposed ms  of it for others  limited by"]
        for one in self:
            rank, its = _judge(one["ranks"])
            step, compute, exposed, others = (1000 * its[column] for column in columns)
            lines.append(f"{one['step']:5}  {rank:4}  {step:8.1f}  {compute:10.1f}  {exposed:10.1f}  {others:16.1f}  "
                         f"{one['limited_by']}")
        return "\n".join(lines)


def report(path=None, group=None):
    """Reports how long each step of the last trace took, and what limited it; ``print()`` shows a table.

    Every rank of `group` (the default one, of CPU tensors) calls it after :class:`railweave.trace` ended. Steps begin
    at :func:`railweave.step`; without any, the whole trace is one step. Returns a dict for each step, the same on every
    rank: ``step``; ``limited_by`` (``compute``, ``memory``, ``host``, ``rails``, ``latency`` or ``rank N``, see
    docs/guide/trace.md); ``ranks``, for each rank a dict of:

    - ``limited_by``, ``step_s``, ``compute_s``, ``operations``, ``clock_error_s`` of this rank
    - ``exposed_s`` (a thread waited), ``waited_for_others_s`` (part of it: some rank had not issued the operation)
    - ``overlap_efficiency``: share of the time with operations in flight in which no thread waited
    - ``in_flight_bytes``, ``in_flight_operations``: the most at once
    - ``rails``: by name ``out_bytes``, ``in_bytes``, ``out_gbps``, ``in_gbps`` (Gb/s), ``busy_while_exposed`` (a share)

    Within one process or without a group the report covers this process alone. Ranks are numbered as in `group`. Steps
    of ranks match by number. :func:`railweave.step` counts without a trace, too, so every rank must call it equally
    often; a step that some rank lacks is left out. Every rank gathers when each rank issued each operation: 25 bytes on
    the wire and some 300 bytes of memory, times operations, times ranks. The memory is freed at the return.

    `path`: rank 0 writes the dicts to this file, one JSON object per line.
    Raises RuntimeError while a trace is running and ValueError for a group without this rank. Raises the group's error
    if a rank is lost, and OSError if the file cannot be written.
    """
    if _C._trace_on():
        raise RuntimeError("report: a trace is running; end it first "
                           "(the trace of RAILWEAVE_TRACE ends with the process)")
    records = last_records()
    steps = steps_of(records)
    own = {number: (part, begin, end) for part, (number, begin, end) in zip(by_step(records, steps), steps)}
    reported = {number: figures(part, begin, end) for number, (part, begin, end) in own.items()}

    together = dist.is_available() and dist.is_initialized()
    rank, size = (dist.get_rank(group), dist.get_world_size(group)) if together else (0, 1)
    if rank < 0:
        raise ValueError("report: expected a group with this rank, found a group without it")
    boots = _gathered(boot(), size, group)
    offset, error = _clock_offset(group, rank, boots)
    issues = {(one.group, one.priority, one.what): one.begin + offset for one in records.operations}
    by_operation = defaultdict(dict)
    for other, issued in enumerate(_gathered(issues, size, group)):
        for operation, when in issued.items():
            by_operation[operation][other] = when - offset
    for number, (part, begin, end) in own.items():
        lost = waited_for(part.waits, by_operation, rank, begin, end)
        reported[number].update(clock_error_s=error / 1e9, waited_for_others_s=sum(lost.values()) / 1e9,
                            limited_by=limit_of(reported[number], lost, memory_waits(part, begin, end, name_of)))

    reported = _gathered(reported, size, group)
    all_steps = Steps()
    for number in sorted(set.intersection(*map(set, reported))):
        ranks = [of_rank[number] for of_rank in reported]
        all_steps.append({"step": number, "limited_by": _judge(ranks)[1]["limited_by"], "ranks": ranks})
    if path is not None and rank == 0:
        with naming(path):
            Path(path).write_text("".join(json.dumps(one) + "\n" for one in all_steps))
    return all_steps
