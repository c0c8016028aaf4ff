"""Runs the ranks of a process group as forked processes of a test. The test's own process must not have computed
anything with torch."""
from __future__ import annotations

import os
import pickle
import signal
import tempfile
import time
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any, Callable

import torch
import torch._dynamo  # noqa: F401  a rank's first optimizer would import it: more than a second for each rank
import torch.distributed as dist

import railweave  # noqa: F401  registers the backend

_PATIENCE_S = 120
_folders: list[tempfile.TemporaryDirectory[str]] = []  # removed at the exit of this process, not of ranks


class RankFailed(AssertionError):
    """A rank raised, died or did not end in time. The message names the rank and the reason."""


def in_group(body: Callable[..., Any], backend: str = "railweave", timeout_s: float = 60,
             **init: Any) -> Callable[..., Any]:
    """Returns a function that calls `body(rank, size, ...)` within an initialised default group."""

    def run(rank: int, size: int, store: str, *args: Any) -> Any:
        dist.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=size,
                                timeout=timedelta(seconds=timeout_s), **init)
        try:
            return body(rank, size, *args)
        finally:
            dist.destroy_process_group()

    return run


def _child(write: int, body: Callable[..., Any], rank: int, args: tuple[Any, ...]) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    try:
        answer = (True, body(rank, *args))
    except BaseException:  # noqa: BLE001  the test's process reports it
        answer = (False, traceback.format_exc())
    with os.fdopen(write, "wb") as out:
        pickle.dump(answer, out)
    os._exit(0)


def start(body: Callable[..., Any], size: int, *args: Any) -> list[tuple[int, int]]:
    """Forks a process for each rank, which calls `body(rank, size, store, *args)`. Returns (pid, descriptor of the
    answer) by rank. `store`: path of a file store for these ranks alone."""
    _folders.append(tempfile.TemporaryDirectory(prefix="railweave-test-"))
    store = str(Path(_folders[-1].name) / "store")
    started = []
    for rank in range(size):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            _child(write, body, rank, (size, store, *args))
        os.close(write)
        started.append((pid, read))
    return started


def _read_all(read: int, until: float) -> bytes | None:
    os.set_blocking(read, False)
    data = b""
    while time.monotonic() < until:
        try:
            chunk = os.read(read, 1 << 20)
        except BlockingIOError:
            time.sleep(0.01)
            continue
        if not chunk:
            return data
        data += chunk
    return None


def outcomes(started: list[tuple[int, int]], patience_s: float = _PATIENCE_S) -> list[tuple[bool, Any] | None]:
    """Returns by rank (True, the body's value), (False, its traceback), or None if the rank died or was late. Kills
    late ranks."""
    until = time.monotonic() + patience_s
    answers: list[tuple[bool, Any] | None] = []
    for pid, read in started:
        data = _read_all(read, until)
        os.close(read)
        if data is None:
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        answers.append(pickle.loads(data) if data else None)
    return answers


def run(body: Callable[..., Any], size: int, *args: Any, backend: str = "railweave", patience_s: float = _PATIENCE_S,
        **init: Any) -> list[Any]:
    """Calls `body(rank, size, *args)` in a group of `size` ranks. Returns the values by rank. Raises RankFailed."""
    answers = outcomes(start(in_group(body, backend, **init), size, *args), patience_s)
    for rank, answer in enumerate(answers):
        if answer is None:
            raise RankFailed(f"rank {rank} of {size} died or took longer than {patience_s} s")
    wrong = [f"rank {rank}:\n{answer[1]}" for rank, answer in enumerate(answers) if answer and not answer[0]]
    if wrong:
        raise RankFailed("\n".join(wrong))
    return [answer[1] for answer in answers if answer]
