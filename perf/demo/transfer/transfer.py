"""Runs the steps in one lab: each rail's own speed, the file over all rails, the same file over one rail."""
from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from lab.steps import TAIL_CHARS, in_lab, tails

_STEP_TIMEOUT_S = 120.0


class DemoError(RuntimeError):
    """A step failed. The message has the end of its output."""


@dataclass
class Setup:
    nics: int
    rate: str
    shape: str
    loopback: bool
    build: Path
    sleep_us: int


@dataclass
class Transfer:
    """One transfer of the file. Rates in Gb/s of payload, series by rail as seen by the receiver's interfaces."""

    seconds: float
    file_bytes: int
    gbps: float
    sha256: str
    match: bool
    cpu_s_per_gb: dict[str, float]  # sender, receiver (their processes), machine (all cores, its own load subtracted)
    busy_before: float  # cores that the machine kept busy by itself
    sockets: int
    ends_s: list[float]  # end of each bin
    rail_bytes: dict[str, list[int]]  # per bin

    def total_of(self, rail: str) -> int:
        return sum(self.rail_bytes.get(rail, []))

    def carried(self, rail: str) -> bool:
        """Whether the rail carried a share of the file. Less than a thousandth is control traffic."""
        return self.total_of(rail) >= 0.001 * self.file_bytes


@dataclass
class Outcome:
    loopback: bool
    own_gbps: dict[str, float]  # raw TCP, one rail at a time
    striped: Transfer
    single: Transfer | None  # None if there is one rail only
    device: str

    @property
    def sum_gbps(self) -> float:
        return sum(self.own_gbps.values())

    @property
    def unit(self) -> tuple[str, float]:
        """Name and bytes of the unit in which the file has a handy size."""
        count = self.striped.file_bytes
        return ("GB", 1e9) if count >= 1e9 else ("MB", 1e6) if count >= 1e6 else ("kB", 1e3)

    @property
    def short(self) -> bool:
        """Whether the transfer was too short for meaningful rates and CPU figures."""
        return self.striped.seconds < 1.0


def _steps(setup: Setup, file: Path) -> list[dict]:
    programs = setup.build / "bin"
    move = [str(programs / "net_perf"), "--file", str(file), "--size", "1M", "--inflight", "4", "--interval-ms", "50",
            "--sleep-us", str(setup.sleep_us), "--baseline", "1"]
    steps = [{"name": "raw", "argv": [str(programs / "raw_tcp"), "--duration", "2"]},
             {"name": "striped", "argv": move}]
    if setup.nics > 1 and not setup.loopback:
        steps.append({"name": "single", "argv": move, "only_nic": "eth0"})
    return [{"before": [], "after": [], "timeout_s": _STEP_TIMEOUT_S, **step} for step in steps]


def _read(path: Path) -> Transfer:
    data = json.loads(path.read_text())
    result = data["results"][0]
    receiver = result["ranks"][1]
    series = receiver["series"]
    cpu = result["cpu"]
    return Transfer(
        result["seconds"], result["bytes"], result["goodput_gbps"], result["file"]["sha256_received"],
        result["file"]["match"],
        {"sender": cpu["rank0_s_per_gb"], "receiver": cpu["rank1_s_per_gb"], "machine": cpu["machine_s_per_gb"]},
        cpu["machine_baseline_share"],
        receiver["sockets"], series["t_s"], {rail: counts["rx_bytes"] for rail, counts in series["rails"].items()})


def run(setup: Setup, file: Path, show: Callable[[str], None], fell_back: Callable[[str], None]) -> Outcome:
    """Runs the steps. Calls `show` with the name of each step as it begins, and `fell_back` with the reason if
    everything goes over loopback. Raises DemoError."""
    with tempfile.TemporaryDirectory(prefix="railweave-demo-") as name:
        folder = Path(name)
        plan = folder / "steps.json"
        plan.write_text(json.dumps({"steps": _steps(setup, file)}))
        loopback = _run_lab(setup, plan, show, fell_back)
        raw = json.loads((folder / "raw.json").read_text())
        striped = _read(folder / "striped.json")
        single = folder / "single.json"
        device = json.loads((folder / "striped.json").read_text())["plugin"]
        return Outcome(loopback, raw["summary"]["per_rail_gbps"], striped,
                       _read(single) if single.exists() else None,
                       f"{device['name']}, net API {device['api']}, device {device['device']['name']}")


def _run_lab(setup: Setup, plan: Path, show: Callable[[str], None], fell_back: Callable[[str], None]) -> bool:
    """Runs the lab. Returns whether it used loopback. Raises DemoError."""
    where = ["--loopback"] if setup.loopback else \
        ["--nics", str(setup.nics), "--rate", setup.rate, "--shape", setup.shape]
    reasons = []

    def note(reason: str) -> None:
        reasons.append(reason)
        fell_back(reason)

    status, text = in_lab(where, plan, show, note)
    if status != 0:
        raise DemoError(f"exit status {status}\n{text[-TAIL_CHARS:]}{tails(plan.parent)}")
    return setup.loopback or bool(reasons)
