"""From a wheel to a verified transfer between two hosts of a lab, by the commands of docs/guide/install.md."""

from __future__ import annotations

import subprocess

from recipes import places
from checks.nccl_section import compared
from checks.systems import System, finish

_LAB = ["tools/lab", "run", "--hosts", "2", "--nics", "2", "--rate", "1gbit", "--"]


def check(system: System, venv: str) -> str:
    """Returns a line of what was seen. The lab gives each host its rank and the address of host 0. Errors:
    CheckFailed."""
    process = subprocess.Popen([*_LAB, f"{venv}/bin/railweave-net-perf", "--verify", "--duration", "3"],
                               cwd=places.ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    return f"{compared(finish(process, 120))} messages compared between two hosts, in three commands"
