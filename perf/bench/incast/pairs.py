"""Pairs of a sender and a receiver between host 0 and the other hosts of a lab. The sender is rank 0 and listens at its
own host; the receiver is on host 0. Each sender is one process, and a process of host 0 may have several receivers. A
pair leaves its result as NUMBER.json in a folder that all hosts of a lab see."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

kRoot = Path(__file__).resolve().parents[3]
kPatience_s = 60.0


@dataclass(frozen=True)
class Pair:
    number: int  # unique in a run; selects its port and its file
    host: int  # of the sender
    program: str
    options: list[str]


def load(program: str, size: str, duration_s: float, *, warmup_s: float, begin_at_s: float, sleep_us: int) -> list[str]:
    """Returns the options of net_perf or raw_tcp for one sender. `begin_at_s`: on CLOCK_MONOTONIC; 0: when
    connected."""
    more = ["--cc", "cubic"] if program == "raw_tcp" else ["--inflight", "4"]
    return ["--size", size, "--warmup", str(warmup_s), "--begin-at", str(begin_at_s), "--duration", str(duration_s),
            "--interval-ms", "100", "--sleep-us", str(sleep_us), *more]


def folder(name: str) -> Path:
    """Returns this lab's folder, which is made if missing. Host 0 removes the folder in the end."""
    made = Path(tempfile.gettempdir()) / f"{name}-{os.environ['RWLAB']}"
    made.mkdir(exist_ok=True)
    return made


def agree(where: Path, rank: int, settle_s: float) -> float:
    """Returns the time at which all begin, on the CLOCK_MONOTONIC of the machine. Raises SystemExit if host 0 sets
    none."""
    file = where / "begin"
    if rank == 0:
        begin_s = time.monotonic() + settle_s
        (where / "begin.new").write_text(repr(begin_s))
        (where / "begin.new").rename(file)
        return begin_s
    until = time.monotonic() + kPatience_s
    while not file.exists():
        if time.monotonic() > until:
            raise SystemExit(f"host 0 did not say within {kPatience_s:g} s when all begin: "
                             "look whether its process (RANK=0) runs")
        time.sleep(0.02)
    return float(file.read_text())


def start(pair: Pair, programs: str, host: int, where: Path) -> subprocess.Popen:
    """Starts the end of the pair that is on `host`."""
    address, port = _place(pair)
    options = [*pair.options, "--json", str(_file(where, pair.number))]
    return _start(pair.program, options, programs,
                  {"RANK": "1" if host == 0 else "0", "MASTER_ADDR": address, "MASTER_PORT": str(port)})


def spread(given: list[Pair], processes: int) -> list[list[Pair]]:
    """Splits the pairs into processes of neighbours, so that each process has senders of all hosts."""
    return [given[len(given) * n // processes: len(given) * (n + 1) // processes] for n in range(processes)]


def start_receivers(together: list[Pair], programs: str, where: Path) -> subprocess.Popen:
    """Starts the receivers of these pairs as one process of host 0. Several pairs must be of net_perf with equal
    options."""
    if len(together) == 1:
        return start(together[0], programs, 0, where)
    places = ",".join(f"{address}:{port}" for address, port in map(_place, together))
    return _start("net_perf", [*together[0].options, "--meet", places], programs, {"RANK": "1"})


def end(running: list[subprocess.Popen], within_s: float) -> int:
    """Waits for all processes and passes on the messages of failed ones. Returns the number of failures."""
    failed, until = 0, time.monotonic() + within_s
    for process in running:
        try:
            _, said = process.communicate(timeout=max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
        if process.returncode != 0:
            failed += 1
            print(said, file=sys.stderr, end="", flush=True)
    return failed


def results(numbers: list[int], where: Path, within_s: float) -> dict[int, dict]:
    """Returns the documents of the pairs, by number. Waits for the senders' hosts to write them. Leaves out a pair
    without a document."""
    until = time.monotonic() + within_s
    while not all(_whole(_file(where, number)) for number in numbers) and time.monotonic() < until:
        time.sleep(0.05)
    return {number: json.loads(_file(where, number).read_text()) for number in numbers if _whole(_file(where, number))}


def _place(pair: Pair) -> tuple[str, int]:
    """Returns address and port at which the sender listens."""
    address = os.environ["RWLAB_ADDRESSES"].split(";")[pair.host].split(",")[0]
    return address, int(os.environ["MASTER_PORT"]) + 1 + pair.number


def _start(program: str, options: list[str], programs: str, environment: dict[str, str]) -> subprocess.Popen:
    return subprocess.Popen([str(Path(programs) / program), *options],
                            env={**os.environ, "WORLD_SIZE": "2", **environment},
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _file(where: Path, number: int) -> Path:
    return where / f"{number}.json"


def _whole(file: Path) -> bool:
    return file.exists() and file.read_text().endswith("}\n")
