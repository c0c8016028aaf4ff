"""Jobs that hang or fail on purpose, and what `railweave explain` says of their dumps."""
from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Callable

import torch
import torch.distributed as dist

import ranks

KINDS = {"stopped": "silent", "other_operation": "other_operation", "other_sizes": "other_sizes", "lost": "lost",
         "deadlock": "deadlock"}  # and the cause that explain names
_ALIVE = ("absent", "locked")  # further kinds: the culprit runs, and dumps once it learns of the end
_TIMEOUT_S = 4.0
_PATIENCE_S = 90


@dataclass
class Job:
    """A job of one kind. Everything else is drawn from the seed."""

    kind: str
    seed: int
    size: int = 0
    culprit: int = 0  # a rank
    before: int = 0  # collectives that succeed
    numel: int = 0
    shared_memory: bool = False
    variant: int = 0
    asynchronous: bool = False
    culprits: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        draw = random.Random(f"{self.kind} {self.seed}")
        self.size = draw.randint(3, 5)
        self.culprit = draw.randrange(self.size)
        self.before = draw.randint(0, 6)
        self.numel = draw.choice([1, 7, 1000, 100_000])
        self.shared_memory = draw.random() < 0.5
        self.asynchronous = draw.random() < 0.3
        self.variant = self.seed % 4
        self.culprits = [self.culprit]

    def __str__(self) -> str:
        return (f"{self.kind}, seed {self.seed}: {self.size} ranks, culprit {self.culprit}, {self.before} operations "
                f"before, {self.numel} elements, shared memory {'on' if self.shared_memory else 'off'}, "
                f"variant {self.variant}{', asynchronous' if self.asynchronous else ''}")


def _call(job: Job, kind: int, rank: int, group: Any = None, numel: int | None = None) -> None:
    """Calls one collective, the same on every rank for equal arguments."""
    count = job.numel if numel is None else numel
    tensor = torch.full((count,), float(rank))
    if kind == 0:
        work = dist.all_reduce(tensor, group=group, async_op=True)
    elif kind == 1:
        work = dist.all_gather_into_tensor(torch.empty(count * job.size), tensor, group=group, async_op=True)
    elif kind == 2:
        work = dist.broadcast(tensor, src=0, group=group, async_op=True)
    else:
        work = dist.reduce_scatter_tensor(tensor, torch.empty(count * job.size), group=group, async_op=True)
    if job.asynchronous:
        time.sleep(0.1)  # the program computes
    work.wait()


def _stopped(rank: int, job: Job) -> None:
    if rank == job.culprit:
        os.kill(os.getpid(), signal.SIGSTOP)
    _call(job, job.variant if job.variant != 2 else 0, rank)  # a broadcast need not wait for its receivers


def _lost(rank: int, job: Job) -> None:
    if rank == job.culprit:
        if job.variant % 2:
            os._exit(3)
        os.kill(os.getpid(), signal.SIGKILL)
    _call(job, job.variant if job.variant != 2 else 1, rank)


def _other_operation(rank: int, job: Job) -> None:
    if rank != job.culprit:
        return _call(job, 0, rank)
    if job.variant == 0:
        return _call(job, 1, rank)
    if job.variant == 1:
        dist.all_reduce(torch.ones(job.numel), op=dist.ReduceOp.MAX)
    elif job.variant == 2:
        dist.recv(torch.ones(job.numel), src=(rank + 1) % job.size)
    else:
        dist.all_reduce(torch.ones(job.numel, dtype=torch.int32))


def _other_sizes(rank: int, job: Job) -> None:
    _call(job, 3 if job.variant == 3 else job.variant % 2, rank, numel=job.numel + (rank == job.culprit))


def _deadlock(rank: int, job: Job) -> None:
    everyone = list(range(job.size))
    groups = [dist.new_group(everyone), dist.new_group(everyone)]
    for group in groups:
        _be_impatient(group)
        _call(job, 0, rank, group)
    if rank == job.culprit:
        groups.reverse()
    for group in groups:
        _call(job, job.variant if job.variant != 2 else 0, rank, group)


def _absent(rank: int, job: Job) -> None:
    while rank == job.culprit:
        time.sleep(0.05)
    _call(job, 0, rank)


def _locked(rank: int, job: Job) -> None:
    if rank == job.culprit:
        ctypes.PyDLL(None).sleep(600)  # keeps the interpreter's lock
    _call(job, 0, rank)


_BODIES: dict[str, Callable[[int, Job], None]] = {"stopped": _stopped, "lost": _lost, "deadlock": _deadlock,
                                                  "other_operation": _other_operation, "other_sizes": _other_sizes,
                                                  "absent": _absent, "locked": _locked}


def _be_impatient(group: Any) -> None:
    """Sets the timeout of operations. The ranks had more time to meet, because the machine may be busy."""
    group._get_backend(torch.device("cpu")).set_timeout(timedelta(seconds=_TIMEOUT_S))


def _rank(rank: int, size: int, store: str, job: Job, folder: str) -> str:
    os.environ["RAILWEAVE_DUMP_DIR"] = folder
    os.environ["RAILWEAVE_SHM"] = "on" if job.shared_memory else "off"
    dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=timedelta(seconds=60))
    for number in range(job.before):
        _call(job, number % 4, rank)
    dist.barrier()
    _be_impatient(dist.group.WORLD)
    try:
        _BODIES[job.kind](rank, job)
    except RuntimeError as error:
        return str(error)
    dist.destroy_process_group()
    return ""


def start(job: Job, folder: str) -> list[tuple[int, int]]:
    """Forks the job's ranks, which dump into `folder`. Returns what ranks.start() does."""
    return ranks.start(_rank, job.size, job, folder)


def finish(job: Job, started: list[tuple[int, int]], folder: str) -> list[str]:
    """Waits for the ranks that are no culprits, and ends the job. Returns their errors."""
    others = [one for rank, one in enumerate(started) if rank not in job.culprits]
    said = [str(answer[1]) if answer else "" for answer in ranks.outcomes(others, _PATIENCE_S)]
    until = time.monotonic() + _PATIENCE_S
    while job.kind in _ALIVE and len(os.listdir(folder)) < job.size and time.monotonic() < until:
        time.sleep(0.05)  # an idle rank learns of the end within some seconds
    ranks.outcomes([started[rank] for rank in job.culprits], 0 if job.kind in ("stopped", *_ALIVE) else _PATIENCE_S)
    return said


def program() -> str:
    return os.environ.get("TESTS_PROGRAM", "")


def explain(folder: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program(), "explain", *options, folder], capture_output=True, text=True, check=False,
                          timeout=60)


def verdict_on(job: Job, started: list[tuple[int, int]], folder: str) -> tuple[bool, str]:
    """Ends the job. Returns whether explain names the culprit and the cause, and what explain says."""
    errors = finish(job, started, folder)
    asked = explain(folder, "--json")
    shown = explain(folder).stdout
    if asked.returncode != 0:
        return False, "\n".join([str(job), asked.stderr, shown, *errors])
    found = json.loads(asked.stdout)
    right = found["culprits"] == job.culprits and found["cause"] == KINDS.get(job.kind, "absent")
    return right, "\n".join([str(job), shown, *(() if right else errors)])


def judged(jobs: list[Job], at_once: int) -> list[tuple[bool, str]]:
    """Runs the jobs, some at once. Returns verdict_on() of each."""
    results = []
    for begin in range(0, len(jobs), at_once):
        with tempfile.TemporaryDirectory(prefix="railweave-test-") as root:
            running = []
            for number, job in enumerate(jobs[begin:begin + at_once]):
                folder = str(Path(root) / str(number))
                running.append((job, start(job, folder), folder))
            results += [verdict_on(*one) for one in running]
    return results
