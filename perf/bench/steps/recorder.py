"""Records the collectives of a step. Meant for collectives that take no time, so that the time between them is
compute."""
from __future__ import annotations

import time
from typing import Any, Callable

import torch
import torch.distributed as dist

from .pieces import GATHER, REDUCE, Call, Recorded


class Recorder:
    """Replaces torch's functions as a context manager."""

    def __init__(self) -> None:
        self._originals = {name: getattr(dist, name) for name in (GATHER, REDUCE)}
        self._calls: list[Call] = []

    def __enter__(self) -> Recorder:
        for name, function in self._originals.items():
            setattr(dist, name, self._recording(name, function))
        return self

    def __exit__(self, *_: Any) -> None:
        for name, function in self._originals.items():
            setattr(dist, name, function)

    def _recording(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(*args: Any, **kwargs: Any) -> Any:
            tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
            self._calls.append(Call(name, max(tensor.nbytes for tensor in tensors), time.perf_counter()))
            return function(*args, **kwargs)

        return recorded

    def record(self, step: Callable[[Callable[[], None]], float]) -> Recorded:
        """Records one step. `step` gets a function to call at its beginning and at the beginning of backward, and
        returns its seconds."""
        self._calls = []
        marks: list[float] = []
        seconds = step(lambda: marks.append(time.perf_counter()))
        began, backward = marks
        return Recorded([Call(call.name, call.whole_bytes, call.at_s - began) for call in self._calls],
                        backward - began, seconds)
