"""This rank's half of programs that run between two ranks of a lab, one after the other."""
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

_PORTS = 50  # used in turn
_PATIENCE_S = 60.0


class RankPrograms:
    """Runs programs, each run with its own port. `programs`: the folder of net_perf and raw_tcp. `folder`: for their
    output."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs, self.json = programs, folder / "run.json"
        self.first_port = int(os.environ["MASTER_PORT"]) + 1
        self.runs = 0

    def begin(self, program: str, *options: str, environment: dict[str, str] | None = None) -> subprocess.Popen:
        self.json.unlink(missing_ok=True)
        self.runs += 1
        port = {"MASTER_PORT": str(self.first_port + self.runs % _PORTS)}
        return subprocess.Popen([str(self.programs / program), *options, "--json", str(self.json)], text=True,
                                env={**os.environ, **(environment or {}), **port}, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def end(self, running: subprocess.Popen, patience_s: float = _PATIENCE_S) -> tuple[dict | None, str]:
        """Waits for the program. Returns the JSON that rank 0 wrote, or None, and the program's output."""
        try:
            said, _ = running.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            running.kill()
            return None, f"it hangs\n{running.communicate()[0]}"
        written = self.json.exists() and running.returncode == 0
        return (json.loads(self.json.read_text()) if written else None), said
