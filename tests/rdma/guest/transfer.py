"""A net_perf between the two hosts of a lab, and what its ranks' statistics say about lanes. Runs on host 0."""
from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from lab.plan import Plan

_STATS = Path("/tmp")
_STATS_PATIENCE_S = 10.0
_ENDS_IN_S = 60.0  # after its time
_SLEEP_US = "1000"  # long: callers that wait share the emulated core with all else
_JSON_BYTES_MAX = 1 << 24


@dataclass(frozen=True)
class Lane:
    wire: str
    rail: str
    ends: tuple[str, str]  # addresses with ports, ours first; no two lanes of a transfer have the same
    received: int  # bytes; those sent may be in a ring that nobody empties any more


class Rank:
    """One rank's net_perf."""

    def __init__(self, number: int, plan: Plan, argv: list[str], environment: dict[str, str]) -> None:
        self.number = number
        in_host = ["ip", "netns", "exec", plan.hosts[number].ns, "unshare", "--uts", "sh", "-c",
                   'echo "$0" > /proc/sys/kernel/hostname; exec "$@"', f"host{number}"]
        self.process = subprocess.Popen([*in_host, *argv], env={**os.environ, **environment, "RANK": str(number)},
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines: list[tuple[float, str]] = []  # output, with seconds of CLOCK_MONOTONIC
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.rstrip("\n")))

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def end(self, within_s: float) -> int:
        """Waits for the process, and kills it after `within_s`. Returns its status; negative: killed by a signal."""
        try:
            self.process.wait(timeout=max(0.0, within_s))
        except subprocess.TimeoutExpired:
            self.lines.append((time.monotonic(), f"rank {self.number} hangs"))
            self.process.kill()
        self._reader.join()
        return self.process.wait()

    def lanes(self) -> list[Lane]:
        """Returns the open lanes. Empty: the process has no session, or has ended."""
        for path in _STATS.glob(f"railweave-{self.process.pid}-*.sock"):
            try:
                stats = _fetch(path)
            except OSError:
                continue  # the process is ending
            return [Lane(lane["wire"], lane["rail"], (lane["local_address"], lane["remote_address"]),
                         lane["bytes_received"])
                    for session in stats["sessions"] for lane in session["lanes"] if not lane["closed"]]
        return []


def _fetch(path: Path) -> dict:
    """Fetches the statistics behind a socket: JSON in a memory file. Raises OSError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(_STATS_PATIENCE_S)
        client.connect(str(path))
        _, files, _, _ = socket.recv_fds(client, 1, 1)
    if not files:
        raise OSError(f"{path}: closed without an answer")
    try:
        return json.loads(os.pread(files[0], _JSON_BYTES_MAX, 0))
    finally:
        os.close(files[0])


class Transfer:
    """A running net_perf of both hosts that compares every byte."""

    _runs = 0

    def __init__(self, plan: Plan, program: Path, options: list[str], environment: dict[str, str]) -> None:
        Transfer._runs += 1
        self._json = Path(tempfile.gettempdir()) / f"transfer-{Transfer._runs}.json"
        argv = [str(program), "--verify", "--warmup", "0", "--sleep-us", _SLEEP_US, *options, "--json", str(self._json)]
        port = str(int(os.environ["MASTER_PORT"]) + Transfer._runs)
        self.ranks = [Rank(number, plan, argv, {**environment, "MASTER_PORT": port, "WORLD_SIZE": "2",
                                                "RAILWEAVE_STATS_DIR": str(_STATS)}) for number in (0, 1)]

    def is_running(self) -> bool:
        return not any(rank.has_ended() for rank in self.ranks)

    def lanes(self) -> list[list[Lane]]:
        return [rank.lanes() for rank in self.ranks]

    def said(self) -> str:
        return "\n".join(self._lines())

    def warnings(self) -> list[str]:
        return [line for line in self._lines() if re.search(r"\bWARN\b", line)]

    def _lines(self) -> list[str]:
        lines = sorted((at_s, f"[{at_s:.2f} host{rank.number}] {line}") for rank in self.ranks
                       for at_s, line in list(rank.lines))
        return [line for _, line in lines]

    def end(self, within_s: float = _ENDS_IN_S) -> dict:
        """Waits for the end. Returns net_perf's result. Raises AssertionError if a rank failed or a byte was wrong."""
        until_s = time.monotonic() + within_s
        ends = [rank.end(until_s - time.monotonic()) for rank in self.ranks]
        if ends != [0, 0]:
            raise AssertionError(f"the ranks ended with {ends}, expected [0, 0]:\n{self.said()}")
        result = json.loads(self._json.read_text())["results"][0]
        self._json.unlink()
        checked = result["verify"]
        if checked["errors"] or not checked["bytes_checked"]:
            raise AssertionError(f"{checked['errors']} wrong messages of {checked['messages_checked']}")
        return result
