"""Two losses of a rail of each kind of tools/bench's R1, which makes a hundred of each, and the computation of R1's
figures."""
from __future__ import annotations

import json
import sys
import tempfile
import unittest
from pathlib import Path

import engine_lab
import support
from bench.faults import losses, recovery

_PROGRAM = support.kPerf / "bench/faults" / "rail_loss_perf.py"


class Losses(engine_lab.EngineTest):
    """No error, no wrong byte, and the rail is used again when it is back. R1 measures how soon the other rail carries
    everything."""

    def check(self, kind: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "result.json"
            done = support.lab("run", "--nics", "2", "--rate", "1gbit", "--shape", "switch", "--timeout", "100", "--",
                               sys.executable, "-B", str(_PROGRAM), "--kind", kind, "--trials", "2",
                               "--programs", str(engine_lab.kBin), "--json", str(file), timeout_s=120)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            found = json.loads(file.read_text())
        self.assertEqual((2, 0, 0), tuple(found["summary"][name] for name in ("trials", "errors", "wrong_bytes")),
                         found)
        self.assertTrue(all(trial["returned_s"] is not None for trial in found["trials"]), found)


for _kind in losses.kOfR1:
    setattr(Losses, f"test_{_kind.replace('-', '_')}", lambda self, kind=_kind: self.check(kind))


def _result(megabytes: list[int], rail: list[int], zero_s: float = 100.0) -> dict:
    """Returns net_perf's result for bins of 50 ms. `megabytes`: received in each bin. `rail`: received by eth1."""
    series = {"interval_ms": 50, "t_s": [0.05 * (i + 1) for i in range(len(megabytes))],
              "received_bytes": [m * 1_000_000 for m in megabytes],
              "rails": {"eth1": {"rx_bytes": [m * 1_000_000 for m in rail], "tx_bytes": [0] * len(rail)}}}
    return {"ranks": [{}, {"t0_monotonic_ns": int(zero_s * 1e9), "series": series}]}


class Recovery(unittest.TestCase):
    """A bin holds 6.25 MB at 1 Gb/s."""

    def test_the_first_of_five_good_bins_in_a_row(self) -> None:
        bins = recovery.bins(_result([12, 12, 1, 6, 6, 5, 6, 6, 6, 6, 6, 6], [6] * 12))
        self.assertAlmostEqual(0.19, recovery.recovered_s(bins, 100.11, 200, 1.0))

    def test_four_are_not_enough(self) -> None:
        bins = recovery.bins(_result([12, 0, 6, 6, 6, 6], [6] * 6))
        self.assertIsNone(recovery.recovered_s(bins, 100.06, 200, 1.0))

    def test_what_comes_after_the_outage_does_not_count(self) -> None:
        bins = recovery.bins(_result([12, 0, 6, 6, 6, 6, 6], [6] * 7))
        self.assertIsNone(recovery.recovered_s(bins, 100.06, 100.32, 1.0))

    def test_a_rail_is_back_when_it_carries(self) -> None:
        bins = recovery.bins(_result([6] * 5, [6, 0, 0, 0, 1]))
        self.assertAlmostEqual(0.1, recovery.returned_s(bins, "eth1", 100.1, 1.0))
        self.assertIsNone(recovery.returned_s(bins[:4], "eth1", 100.1, 1.0))

    def test_a_pause_is_seen_wherever_it_is(self) -> None:
        for paused in ([6, 0, 6, 12, 12], [6, 12, 12, 6, 0], [0, 6, 12, 12, 12]):
            self.assertAlmostEqual(6 / 12.5,
                                   recovery.least_share(recovery.bins(_result(paused, [0] * 5)), 100.01, 200, 1.0))

    def test_what_the_next_bin_has_instead_is_no_pause(self) -> None:
        bins = recovery.bins(_result([6, 5, 7, 6, 12], [0] * 5))
        self.assertAlmostEqual(11 / 12.5, recovery.least_share(bins, 100.0, 200, 1.0))

    def test_the_bin_of_the_instant_counts_and_none_before_or_behind(self) -> None:
        bins = recovery.bins(_result([0, 0, 6, 6, 6, 0, 0], [0] * 7))
        self.assertAlmostEqual(12 / 12.5, recovery.least_share(bins, 100.12, 100.26, 1.0))
        self.assertAlmostEqual(6 / 12.5, recovery.least_share(bins, 100.09, 100.26, 1.0))
        self.assertIsNone(recovery.least_share(bins, 100.31, 200, 1.0))

    def test_a_mean_is_of_whole_bins_within(self) -> None:
        bins = recovery.bins(_result([0, 6, 12, 6], [0] * 4))
        self.assertAlmostEqual(9 / 6.25, recovery.mean_gbps(bins, 0.05, 0.16))
        with self.assertRaises(ValueError):
            recovery.mean_gbps(bins, 0.19, 1)

    def test_the_usual_rate_is_that_before_the_loss(self) -> None:
        self.assertAlmostEqual(12 / 6.25,
                               recovery.usual_gbps(recovery.bins(_result([12, 12, 1, 0, 0, 0], [0] * 6)), 100.16))


if __name__ == "__main__":
    engine_lab.main()
