"""Records when the collectives of a training step were in flight, and when compute waited for them.

Replaces torch's functions, and those that railweave.fsdp.overlap calls, by recording ones. A collective that blocks
counts as waited for from its call to its return."""
from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist


@dataclass
class Step:
    """Times are in seconds since the step began."""

    seconds: float = 0.0
    waits: list[tuple[float, float]] = field(default_factory=list)
    operations: list[dict[str, Any]] = field(default_factory=list)  # name, bytes, begin, end

    @property
    def waited_s(self) -> float:
        return sum(end - begin for begin, end in self.waits)

    def plain(self) -> dict[str, Any]:
        return {**asdict(self), "waited_s": self.waited_s}


class _WatchedWork(dist.Work):
    """A Work that records its waits."""

    def __init__(self, work: dist.Work, operation: dict[str, Any], watch: Watch) -> None:
        super().__init__()
        self._work, self._operation, self._watch = work, operation, watch

    def wait(self, *timeout: Any) -> bool:
        begin = self._watch.now()
        try:
            return self._work.wait(*timeout)
        finally:
            end = self._watch.now()
            self._watch.step.waits.append((begin, end))
            self._operation["end"] = self._operation["end"] or end  # its Future may complete a little later


class Watch:
    """Threads: those of the training. The ends of operations may come on any thread."""

    def __init__(self) -> None:
        self.step = Step()
        self._began = time.perf_counter()

    def now(self) -> float:
        return time.perf_counter() - self._began

    def begin(self) -> None:
        self.step, self._began = Step(), time.perf_counter()

    def end(self) -> Step:
        self.step.seconds = self.now()
        return self.step

    def functions(self, module: ModuleType, **titles: str) -> None:
        """Makes functions of `module` record. `titles`: function name to operation name."""
        for name, title in titles.items():
            setattr(module, name, self._recording(getattr(module, name), title))

    def _recording(self, function: Any, title: str) -> Any:
        def recorded(*args: Any, **kwargs: Any) -> Any:
            tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
            operation = {"name": title, "bytes": max(tensor.nbytes for tensor in tensors), "begin": self.now(),
                         "end": None}
            self.step.operations.append(operation)
            work = function(*args, **kwargs)
            if work is None:
                operation["end"] = self.now()
                self.step.waits.append((operation["begin"], operation["end"]))
                return None

            def over(_future: Any) -> None:
                operation["end"] = operation["end"] or self.now()

            with suppress(RuntimeError):  # some of Gloo's works have no Future: the end is then recorded in wait()
                work.get_future().add_done_callback(over)
            return _WatchedWork(work, operation, self)

        return recorded
