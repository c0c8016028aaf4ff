"""Whether the machine is free for the measurement: no other measurement runs, and the host of a virtual machine takes
little of its cores.

Stolen time shows only on busy cores: on an idle machine the kernel counts almost nothing as stolen."""
from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

kCalm = 0.1  # largest share of the cores that a host may take in a run that is not repeated
_PROBE_S = 0.5
_PAUSE_S = 5.0
_SPIN = f"import time\nend = time.monotonic() + {_PROBE_S}\nwhile time.monotonic() < end: pass"


class Busy(RuntimeError):
    """Another measurement runs. The message is for people."""


@contextmanager
def alone(name: str = "railweave-bench") -> Iterator[None]:
    """Holds `name` until the block ends. Raises Busy while another process of this network namespace holds the name.
    Two labs with --favour starve one another, and a rank may get no core for many seconds."""
    with socket.socket(socket.AF_UNIX) as mark:
        try:
            mark.bind(f"\0{name}")  # disappears with this process
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise Busy("another tools/bench measures on this machine, and two at once starve one another: "
                       "wait for the other one's end") from error
        yield


@dataclass(frozen=True)
class Cores:
    """Ticks of all cores since the machine started (/proc/stat). A lab's hosts see those of the machine."""

    used: int
    stolen: int  # taken by the host of a virtual machine
    idle: int

    @staticmethod
    def now(stat: Path = Path("/proc/stat")) -> Cores:
        # The kernel counts a guest's time also in user and nice.
        of_all_cores = stat.read_text().split("\n", 1)[0].split()[1:9]
        user, nice, system, idle, iowait, irq, softirq, stolen = (int(x) for x in of_all_cores)
        return Cores(user + nice + system + irq + softirq, stolen, idle + iowait)

    @property
    def all(self) -> int:
        return self.used + self.stolen + self.idle

    def stolen_since(self, before: Cores) -> float:
        """Returns the share of the wanted time since `before` that the host took, 0 to 1."""
        stolen = self.stolen - before.stolen
        wanted = self.used - before.used + stolen
        return stolen / wanted if wanted > 0 else 0.0


def probe() -> float:
    """Loads every core for half a second. Returns the share that the host took."""
    before = Cores.now()
    spinning = [subprocess.Popen([sys.executable, "-S", "-c", _SPIN]) for _ in range(os.cpu_count() or 1)]
    for process in spinning:
        process.wait()
    return Cores.now().stolen_since(before)


def wait_until_calm(patience_s: float) -> None:
    """Probes until the host takes at most kCalm, or for `patience_s`."""
    deadline = time.monotonic() + patience_s
    while probe() > kCalm and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)
