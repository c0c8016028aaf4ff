"""Many senders into one rail, as in tools/bench's R7, F1 and F2: the programs run to their end, and R7's figures are
computed correctly. tests/perf/test_sharing.py tests the figures of F1 and F2."""
from __future__ import annotations

import json
import sys
import tempfile
import unittest
from pathlib import Path

import engine_lab
import support
from bench.incast import fairness
from bench.incast.fairness import Arrivals

_PROGRAM = support.kPerf / "bench/incast" / "incast_perf.py"
_SHARING = support.kPerf / "bench/incast" / "sharing_perf.py"


class Fairness(unittest.TestCase):
    def test_the_index(self) -> None:
        self.assertEqual(1.0, fairness.jain([3.0, 3.0, 3.0]))
        self.assertEqual(0.25, fairness.jain([0.0, 0.0, 0.0, 5.0]))
        self.assertEqual(0.0, fairness.jain([0.0, 0.0]))

    def test_seconds_in_which_all_send(self) -> None:
        early, late = Arrivals([10.0, 12.0, 14.5], [0, 200, 450]), Arrivals([11.5, 15.0], [0, 700])
        self.assertEqual([[100.0, 200.0], [100.0, 200.0], [100.0, 200.0]], fairness.bins([early, late]))

    def test_sums_of_a_series(self) -> None:
        receiver = {"t0_monotonic_ns": 5_000_000_000, "series": {"t_s": [0.1, 0.2], "received_bytes": [7, 9]}}
        self.assertEqual(Arrivals([5.0, 5.1, 5.2], [0, 7, 16]), fairness.arrivals({"ranks": [{}, receiver]}))

    def test_goodput(self) -> None:
        self.assertEqual(1.0, fairness.gbps([[62.5e6, 62.5e6], [125e6, 0.0]]))
        self.assertEqual(0.0, fairness.gbps([]))


class FourSenders(unittest.TestCase):
    """Bytes of all senders arrive and no program fails. R7 measures how many and how evenly."""

    def check(self, program: str, *options: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "result.json"
            done = support.lab("run", "--hosts", "3", "--nics", "1", "--rate", "200mbit", "--shape", "switch",
                               "--timeout", "100", "--", sys.executable, "-B", str(_PROGRAM),
                               "--program", program, "--senders", "4", "--settle", "3", "--duration", "3",
                               "--programs", str(engine_lab.kBin), "--json", str(file), *options, timeout_s=120)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            found = json.loads(file.read_text())["summary"]
        self.assertEqual(4, found["senders"])
        self.assertGreaterEqual(found["bins"], 1, found)
        self.assertTrue(all(min(shares) > 0 for shares in found["megabytes"]), found)

    def test_over_railweave(self) -> None:
        self.check("net_perf")

    def test_over_railweave_into_two_processes(self) -> None:
        self.check("net_perf", "--scattered", "--processes", "2")

    def test_over_sockets(self) -> None:
        self.check("raw_tcp")


class FourThatComeAndGo(unittest.TestCase):
    """No program fails, and every figure is there. F1 and F2 judge the figures."""

    def found(self, *options: str) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "result.json"
            done = support.lab("run", "--hosts", "3", "--nics", "1", "--rate", "200mbit", "--shape", "switch",
                               "--buffer", "524288", "--timeout", "100", "--", sys.executable, "-B", str(_SHARING),
                               "--senders", "4", "--settle", "2", "--stagger", "0.4", *options,
                               "--programs", str(engine_lab.kBin), "--json", str(file), timeout_s=120)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            return json.loads(file.read_text())

    def test_one_leaves_and_comes_back(self) -> None:
        document = self.found("--leave", "--duration", "6")
        found, active = document["summary"], [len(shares) for shares in document["series"]["megabytes"]]
        self.assertEqual(0, found["failed"])
        self.assertTrue(active.count(4) >= 2 and active.count(3) >= 2, document)
        self.assertTrue(0 < found["jain_least"] <= found["jain_median"] <= 1, found)
        self.assertGreater(found["goodput_gbps"], 0, found)

    def test_a_round_trip_beside_them(self) -> None:
        found = self.found("--ping", "--ping-iterations", "50", "--duration", "5")["summary"]
        self.assertEqual((0, 50), (found["failed"], found["ping"]["iterations"]))
        self.assertTrue(0 < found["ping"]["p50_us"] <= found["ping"]["p99_us"], found)
        self.assertTrue(0 < found["busy"] <= 1, found)


if __name__ == "__main__":
    engine_lab.main()
