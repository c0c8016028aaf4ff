"""What the host of a virtual machine takes of its cores while something is measured, and waiting until it takes less.

Only a core that is wanted shows what is taken of it: on an idle machine the kernel counts next to nothing as stolen.
"""
from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

kCalm = 0.1  # the most a host may take of the cores in a run that is not repeated
_PROBE_S = 0.5
_PAUSE_S = 5.0
_SPIN = f"import time\nend = time.monotonic() + {_PROBE_S}\nwhile time.monotonic() < end: pass"


@dataclass(frozen=True)
class Cores:
    """Ticks of all cores since the machine started (/proc/stat)."""

    used: int
    stolen: int

    @staticmethod
    def now(stat: Path = Path("/proc/stat")) -> Cores:
        user, nice, system, _idle, _iowait, irq, softirq, stolen = (int(x) for x in stat.read_text().split("\n", 1)[0].split()[1:9])
        return Cores(user + nice + system + irq + softirq, stolen)

    def stolen_since(self, before: Cores) -> float:
        """The share of what was wanted since `before` that the host took, 0 to 1."""
        stolen = self.stolen - before.stolen
        wanted = self.used - before.used + stolen
        return stolen / wanted if wanted > 0 else 0.0


def probe() -> float:
    """What the host takes of every core, all of them being wanted for half a second."""
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
