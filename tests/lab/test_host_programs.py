"""Runs the programs of tools/bench's N1 to N5 and E1 once and briefly: each reports its figures, and nothing fails.
tools/bench checks the bounds."""
from __future__ import annotations

import json
import sys
import tempfile
import unittest
from pathlib import Path
from statistics import mean

import engine_lab
import support
from bench.hosts.false_alarm_perf import _given_up
from real_hosts import SET

_LAB = ("--management", "--rate", "200mbit", "--shape", "both")


class Programs(unittest.TestCase):
    def run_in_lab(self, program: str, lab: tuple[str, ...], *options: str) -> dict:
        """Runs the program in a lab and returns the JSON that it wrote."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "result.json"
            done = support.lab("run", *lab, "--timeout", "100", "--", sys.executable, "-B",
                               str(support.kPerf / program), *options, "--programs", str(engine_lab.kBin),
                               "--json", str(file), timeout_s=120)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            return json.loads(file.read_text())

    def test_share_of_raw_tcp_where_raw_tcp_needs_other_settings(self) -> None:
        lab = (*_LAB, "--network", "one-switch", "--subnets", "shared")
        found = self.run_in_lab("bench/hosts/share_perf.py", lab, "--rails", "2", "--rounds", "2")
        self.assertEqual((0, 2), (found["summary"]["errors"], len(found["rounds"])), found)
        self.assertGreater(found["summary"]["raw_gbps"], 0.3, found)
        self.assertGreater(found["summary"]["share"], 0.3, found)

    def test_share_of_clean_rails_beside_a_bad_one_that_recovers(self) -> None:
        """Raw TCP uses the clean rail only. On the rail that was bad in the first round it would stall in the second
        round."""
        found = self.run_in_lab("bench/hosts/share_perf.py", (*_LAB, "--network", "rails"), "--rails", "1",
                                "--bad", "firewall-one-way", "--rounds", "2", "--settle", "0", "--duration", "2",
                                "--from", "1")
        self.assertEqual(0, found["summary"]["errors"], found)
        self.assertLess(found["summary"]["share"], 1.3, "the bad rail carried")

    def test_a_multipath_tcp_connection_uses_both_rails(self) -> None:
        found = self.run_in_lab("bench/compare/mptcp_perf.py", ("--nics", "2", "--rate", "100mbit"), "--duration", "3")
        self.assertGreater(found["summary"]["sum_gbps"], 0.12, "one rail alone carries less")

    def test_a_fault_of_one_host_s_port(self) -> None:
        found = self.run_in_lab("bench/faults/rail_loss_perf.py", (*_LAB, "--network", "routed"), "--kind", "port-down",
                                "--host", "1", "--trials", "1", "--outage", "2", "--watch", "3")
        trial, = found["trials"]
        self.assertEqual((0, 0), (found["summary"]["errors"], found["summary"]["wrong_bytes"]), found)
        meanwhile = [gbps for at_s, gbps in zip(trial["series"]["from_loss_s"], trial["series"]["gbps"], strict=True)
                     if 1 < at_s < 2]
        self.assertGreater(mean(meanwhile), 0.5 * trial["raw_gbps"], trial)
        self.assertLess(mean(meanwhile), 1.2 * trial["raw_gbps"], "the port was not down")

    def test_data_lost_while_both_sides_connect(self) -> None:
        found = self.run_in_lab("bench/hosts/connect_loss_perf.py", _LAB, "--trials", "2", "--least", "0.5",
                                "--most", "1.5")
        self.assertEqual((0, 0), (found["summary"]["errors"], found["summary"]["wrong_bytes"]), found)
        self.assertTrue(all(trial["took_s"] >= trial["lasts_s"] for trial in found["trials"]),
                        "something connected in spite of the loss")

    def test_no_fault_beside_busy_processes(self) -> None:
        found = self.run_in_lab("bench/hosts/false_alarm_perf.py", _LAB, "--seconds", "3", "--load=--both --size 256K")
        self.assertEqual((0, 0), (found["summary"]["errors"], found["summary"]["wrong_bytes"]), found)
        self.assertGreater(found["summary"]["control_frames"], 0, found)

    def test_a_lane_that_is_reset_counts_as_given_up(self) -> None:
        reset = f"[ $RANK = 1 ] || (moved eth1 100000; sleep 0.5; {SET} --nic 1 --reset) &"
        outcome = engine_lab.net_perf(list(_LAB), "--both", "--duration", "3", beside=reset)
        self.assertEqual((0, 0), (outcome.status, outcome.result["verify"]["errors"]), str(outcome))
        for host in (0, 1):
            self.assertEqual(1, len(_given_up("\n".join(outcome.said(host)))), str(outcome))

    def test_jobs_of_many_ranks(self) -> None:
        found = self.run_in_lab("bench/hosts/many_ranks_perf.py", ("--loopback", "--hosts", "1"), "--ranks", "6",
                                "--jobs", "2")
        self.assertEqual((0, [0, 0]), (found["summary"]["errors"], [job["status"] for job in found["jobs"]]), found)


if __name__ == "__main__":
    engine_lab.main()
