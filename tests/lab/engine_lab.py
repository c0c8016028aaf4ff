"""Runs net_perf with the built plugin in the hosts of a lab, for tests of the engine on real links. Returns every
rank's output, the counters of its lanes and interfaces, the exit status and the duration.

The first argument of a test program is the folder of net_perf and nccl_tests (default: the release build).
"""
from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import support

_RELEASE = Path(__file__).resolve().parents[2] / "build" / "release" / "bin"
kBin = Path(sys.argv.pop(1)) if len(sys.argv) > 1 and Path(sys.argv[1]).is_dir() else _RELEASE

# The script around the program of one rank. `setup` runs before the program. `beside` runs when the program has
# started, and can use its $pid. `moved NIC BYTES` waits until the NIC received more than BYTES. At the end the script
# prints the counters of the interfaces, which began at 0: the lab makes its hosts anew for each run.
_AROUND = """
moved() {{ until [ $(cat /sys/class/net/$1/statistics/rx_bytes) -gt $2 ]; do sleep 0.02; done; }}
{setup}
"$@" & pid=$!
echo "pid $pid"
{beside}
wait $pid; status=$?
ip -o addr show | while read -r _ nic _ address _; do echo "address $nic ${{address%/*}}"; done
for nic in /sys/class/net/*; do
  echo "carried ${{nic##*/}} $(cat $nic/statistics/tx_bytes) $(cat $nic/statistics/rx_bytes)"
done
exit $status
"""


@dataclass(frozen=True)
class Lane:
    """One end of a lane."""

    wire: str
    rail: str
    local: str  # address:port
    remote: str
    sent: int  # payload bytes
    received: int


@dataclass
class Outcome:
    status: int  # the lab's: the worst of all ranks; 124: not done by the deadline
    seconds: float
    stdout: str
    stderr: str
    document: dict[str, Any]  # net_perf's; empty when it wrote none

    def said(self, host: int) -> list[str]:
        """Returns the lines of one host's stdout and stderr, without the lab's prefix."""
        mark = f"[host{host}] "
        return [line[len(mark):] for line in [*self.stdout.splitlines(), *self.stderr.splitlines()]
                if line.startswith(mark)]

    def warnings(self, host: int) -> list[str]:
        return [line for line in self.said(host) if line.startswith("WARN ")]

    def values(self, host: int, word: str) -> list[list[str]]:
        """Returns the words after `word` on each line of the host that begins with `word`."""
        return [line.split()[1:] for line in self.said(host) if line.startswith(f"{word} ")]

    def carried(self, host: int) -> dict[str, tuple[int, int]]:
        """Returns the bytes that each interface sent and received, headers included."""
        return {nic: (int(out), int(into)) for nic, out, into in self.values(host, "carried")}

    @property
    def result(self) -> dict[str, Any]:
        return self.document["results"][0]

    def lanes(self, rank: int) -> list[Lane]:
        counted = self.result["ranks"][rank]["engine"]["lanes"]
        # A scope is a name on one host only, so the two ends of a lane have different ones: "[fe80::1%eth0]:4000".
        local, remote = ([re.sub(r"%[^]]*", "", lane[end]) for lane in counted]
                         for end in ("local_address", "remote_address"))
        return [Lane(lane["wire"], lane["rail"], here, there, lane["bytes_sent"], lane["bytes_received"])
                for lane, here, there in zip(counted, local, remote)]

    def pairs(self) -> list[tuple[str, str]]:
        """Returns the rails (rank 0's, rank 1's) that each lane joins. Raises KeyError if only one rank has the
        lane."""
        others = {(lane.remote, lane.local): lane.rail for lane in self.lanes(1)}
        return sorted((lane.rail, others[lane.local, lane.remote]) for lane in self.lanes(0))

    def sent_by_rail(self, rank: int = 0) -> dict[str, int]:
        sent: dict[str, int] = {}
        for lane in self.lanes(rank):
            sent[lane.rail] = sent.get(lane.rail, 0) + lane.sent
        return sent

    def __str__(self) -> str:
        return f"status {self.status} after {self.seconds:.1f} s\n{self.stdout}{self.stderr}"


def in_lab(lab: list[str], command: list[str], setup: str = "", beside: str = "", deadline_s: float = 40) -> Outcome:
    """Runs `command` in every host of a lab made with the options `lab`. The lab ends it at the deadline."""
    around = _AROUND.format(setup=setup, beside=beside)
    began = time.monotonic()
    done = support.lab("run", "--timeout", str(deadline_s), *lab, "--", "sh", "-c", around, "sh", *command,
                       timeout_s=deadline_s + 30)
    return Outcome(done.returncode, time.monotonic() - began, done.stdout, done.stderr, {})


def net_perf(lab: list[str], *options: str, through: list[str] | None = None, **around: Any) -> Outcome:
    """Runs net_perf, which checks every byte. Without options: 16 MiB over one comm, from rank 0 to rank 1. `through`
    is a command that runs instead of net_perf and gets its options."""
    with tempfile.TemporaryDirectory(prefix="railweave-lab-test-") as folder:
        file = Path(folder) / "result.json"
        command = [*(through or [str(kBin / "net_perf")]), "--verify", "--json", str(file)]
        if not {"--bytes", "--duration"} & set(options):
            command += ["--bytes", "16M"]
        if "--warmup" not in options:
            command += ["--warmup", "0"]
        if "--sleep-us" not in options:  # a rank that only yields its core is starved on a busy machine
            command += ["--sleep-us", "50"]
        outcome = in_lab(lab, [*command, *options], **around)
        if file.exists():
            outcome.document = json.loads(file.read_text())
        return outcome


class EngineTest(unittest.TestCase):
    def assert_works(self, outcome: Outcome) -> Outcome:
        """Asserts that both ranks succeeded, every byte is right and no rank logged a warning."""
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        self.assertGreater(outcome.result["verify"]["bytes_checked"], 0, str(outcome))
        self.assertEqual([], outcome.warnings(0) + outcome.warnings(1), str(outcome))
        return outcome

    def warnings_of(self, host: int, outcome: Outcome, count: int) -> list[str]:
        """Asserts that the host logged `count` warnings, and returns them."""
        warned = outcome.warnings(host)
        self.assertEqual(count, len(warned), str(outcome))
        return warned

    def assert_pairs(self, pairs: list[tuple[str, str]], outcome: Outcome) -> None:
        """Asserts that the lanes join exactly these rails. Each end has an address of its rail and uses the rail's
        interface."""
        self.assertEqual(sorted(pairs), outcome.pairs(), str(outcome))
        for rank in (0, 1):
            addresses = {tuple(pair) for pair in outcome.values(rank, "address")}
            for lane in outcome.lanes(rank):
                host = re.sub(r"^\[|\]$", "", lane.local.rpartition(":")[0])
                self.assertIn((lane.rail, host), addresses, str(outcome))
        self.assert_bound(outcome)

    def assert_bound(self, outcome: Outcome) -> None:
        """Asserts that every lane's bytes left by the interface of its rail and by no other."""
        for rank in (0, 1):
            carried = outcome.carried(rank)
            for rail, sent in outcome.sent_by_rail(rank).items():
                # More than payload: headers, acknowledgements of the other direction, retransmissions, rendezvous.
                self.assertTrue(sent <= carried[rail][0] <= 1.3 * sent + 2_000_000, (rank, rail, sent, str(outcome)))


def main() -> None:
    missing = [name for name in ("net_perf", "nccl_tests") if not (kBin / name).exists()]
    if missing:
        print(f"skipped: no {', '.join(missing)} in {kBin}")
        sys.exit(support.kSkip)
    support.main()
