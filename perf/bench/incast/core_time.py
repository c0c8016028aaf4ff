"""How busy the cores of this machine were while senders sent."""
from __future__ import annotations

import threading
import time

from bench.host import Cores

_EVERY_S = 0.1

Sample = tuple[float, Cores]  # time on CLOCK_MONOTONIC, ticks


def busy(samples: list[Sample], spans: list[tuple[float, float]]) -> float:
    """Returns the share of the cores' time that was not idle, 0 to 1, between the first and the last sample of each
    span. Time that the machine's host took counts as busy. 0 if no span has two samples."""
    idle = everything = 0
    for begin, end in spans:
        within = [cores for at, cores in samples if begin <= at <= end]
        if len(within) > 1:
            idle += within[-1].idle - within[0].idle
            everything += within[-1].all - within[0].all
    return 1 - idle / everything if everything > 0 else 0.0


class Watch:
    """Takes samples in its own thread, from construction to stop()."""

    def __init__(self) -> None:
        self._samples: list[Sample] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> list[Sample]:
        self._over.set()
        self._thread.join()
        return self._samples

    def _run(self) -> None:
        while not self._over.wait(_EVERY_S):
            self._samples.append((time.monotonic(), Cores.now()))
