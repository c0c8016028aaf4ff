"""perf/results/ID.json: every raw sample, both sides, machine, kernel, commit, verdict."""
from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from pathlib import Path

from .measure import Outcome, kRoot


def _git(*args: str) -> str:
    """Returns what git prints; empty without git, outside a repository and after an error."""
    try:
        done = subprocess.run(["git", "-C", str(kRoot), *args], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def settings() -> dict[str, str]:
    """Returns our settings in the environment, which change what is measured."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith("RAILWEAVE_")}


def circumstances() -> dict:
    """Returns the circumstances that a figure depends on. `dirty`: the working tree differs from `commit` (results
    aside)."""
    memory_kib = int(Path("/proc/meminfo").read_text().split()[1])
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {"cpu": _cpu(), "cores": os.cpu_count(), "memory_gib": round(memory_kib / 2**20, 1)},
        "kernel": platform.release(),
        "commit": _git("rev-parse", "HEAD") or None,
        "dirty": bool(_git("status", "--porcelain", "--", ".", ":!perf/results")),
        "load_average_1min": os.getloadavg()[0],
        "environment": settings(),
    }


def _case(outcome: Outcome, runs: int) -> dict:
    case = outcome.case
    return {
        "case": case.name, "what": case.what, "verdict": outcome.verdict, "reason": outcome.reason, "runs": runs,
        "checks": outcome.checks, "values": outcome.values, "lab": case.lab,
        **({"left_out": outcome.left_out} if outcome.left_out else {}),
        "sides": {side: {"command": spec["argv"], "stolen": outcome.stolen.get(side, []),
                         "counted": outcome.counted.get(side, []), "runs": outcome.raw.get(side, [])}
                  for side, spec in case.sides.items()},
    }


def _verdict(verdicts: set[str]) -> str:
    """Returns FAIL if one case failed, and SKIP only if all were skipped."""
    return "FAIL" if "FAIL" in verdicts else "PASS" if "PASS" in verdicts else "SKIP"


def write(folder: Path, name: str, outcomes: list[tuple[Outcome, int]], where: dict) -> Path:
    """Writes results. Cases that were not measured now stay only if commit and settings are the same. Returns the
    file's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    cases = {case["case"]: case for case in _earlier(path, where)}
    cases.update({outcome.case.name: _case(outcome, runs) for outcome, runs in outcomes})
    verdict = _verdict({case["verdict"] for case in cases.values()})
    data = {"id": name, "verdict": verdict, **where, "cases": list(cases.values())}
    partial = path.with_suffix(".part")
    # Paths are written from the root: the file is committed.
    partial.write_text(json.dumps(data, indent=1).replace(f"{kRoot}/", "") + "\n")
    partial.replace(path)
    return path


def _earlier(path: Path, where: dict) -> list[dict]:
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError):
        return []
    same = data.get("commit") == where["commit"] and not data.get("dirty") and not where["dirty"]
    same = same and data.get("environment") == where.get("environment")
    return data["cases"] if same else []
