"""Two losses of a peer of each kind of tools/bench's R2, which makes twenty of each, with short timeouts, and the
judgement of the errors. R2 measures how soon the errors come."""
from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import engine_lab
import support
from bench.faults import peer_losses, peer_promises
from bench.faults.peer_promises import End, Instants

_PROGRAM = support.kPerf / "bench/faults" / "peer_loss_perf.py"
_LAB = ["--nics", "3", "--rate", "100mbit", "--shape", "switch", "--timeout", "100"]
_SHORTER = {"stop": ["--lasts", "2"], "cable": ["--lasts", "3"], "stop-for-ever": ["--timeout", "7", "--never-default"],
            "cable-for-ever": ["--timeout", "9", "--never-default"]}  # some kernels end connections sooner


class Losses(engine_lab.EngineTest):
    """Both ends get the promised errors. Every kind has a lab of its own. The labs run at once, because they mostly
    wait."""

    @classmethod
    def setUpClass(cls) -> None:
        cls._folder = tempfile.TemporaryDirectory()
        cls._running = {kind: support.start("run", *_LAB, "--", sys.executable, "-B", str(_PROGRAM),
                                            "--kind", kind, "--trials", "2", "--programs", str(engine_lab.kBin),
                                            *_SHORTER.get(kind, []), "--json", str(cls._file(kind)))
                        for kind in peer_losses.kLosses}

    @classmethod
    def tearDownClass(cls) -> None:
        for running in cls._running.values():
            if running.poll() is None:
                running.terminate()  # the lab tears itself down
                running.communicate()
        cls._folder.cleanup()

    @classmethod
    def _file(cls, kind: str) -> Path:
        return Path(cls._folder.name) / f"{kind}.json"

    def check(self, kind: str) -> dict:
        running = self._running[kind]
        try:
            stdout, stderr = running.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            self.fail(f"{kind} hangs")
        self.assertEqual(0, running.returncode, stdout + stderr)
        found = json.loads(self._file(kind).read_text())
        self.assertEqual((2, 0, 0), (found["summary"]["trials"], found["summary"]["wrong"],
                                     found["summary"].get("unnamed", 0)), found)
        return found["summary"]

    def check_after_its_timeout(self, kind: str, told: int) -> None:
        summary = self.check(kind)
        self.assertEqual(told, summary["errors"], summary)
        self.assertGreaterEqual(summary["late_least_s"], 0, summary)

    def test_kill(self) -> None:
        self.assertEqual(2, self.check("kill")["errors"])

    def test_stop(self) -> None:
        self.check("stop")

    def test_stop_for_ever(self) -> None:
        self.check_after_its_timeout("stop-for-ever", 2)

    def test_cable(self) -> None:
        self.check("cable")

    def test_cable_for_ever(self) -> None:
        self.check_after_its_timeout("cable-for-ever", 4)


_AT = Instants(lost_s=100.0, took_s=0.0, undone_s=108.5)
_KILLED = End(7, -signal.SIGKILL, [])


def _told(pid: int, *lines: tuple[float, str]) -> End:
    return End(pid, 1, [*((at_s, f"WARN NET/Railweave : {line}") for at_s, line in lines),
                        (lines[-1][0] + 0.01, "rank 1: test of irecv 1 on flow 0: ncclRemoteError (6)")])


class Judgement(unittest.TestCase):
    def judged(self, kind: str, ends: list[End], document: dict | None = None) -> peer_promises.Verdict:
        return peer_promises.judged(peer_losses.kLosses[kind], 0, ends, _AT, document)

    def test_a_survivor_is_told_and_by_whom(self) -> None:
        found = self.judged("kill", [_KILLED, _told(8, (100.5, "connection to host0 pid 7 lost: reset"))])
        self.assertEqual(([], 0), (found.wrong, found.unnamed))
        self.assertAlmostEqual(0.51, found.error_s[0])

    def test_another_s_name_is_none(self) -> None:
        for line in ("connection to host0 pid 77 lost: reset", "connection to host1 pid 7 lost: reset", "lane 0 lost"):
            self.assertEqual(1, self.judged("kill", [_KILLED, _told(8, (100.5, line))]).unnamed, line)

    def test_a_survivor_that_goes_on_or_crashes_was_not_told(self) -> None:
        for end in (End(8, 0, []), End(8, -signal.SIGSEGV, [(101, "ncclRemoteError")]),
                    End(8, 1, [(101, "the other rank has gone")])):
            self.assertEqual(1, len(self.judged("kill", [_KILLED, end]).wrong), end)

    def test_a_stopped_peer_is_warned_of_and_learns_of_the_loss(self) -> None:
        stopped = _told(7, (108.6, "connection to host1 pid 8 lost: reset"))
        lost = (108.1, "connection to host0 pid 7 lost: its kernel answers")
        found = self.judged("stop-for-ever", [stopped, _told(8, (105.2, "host0 pid 7 has not answered for 5 s"), lost)])
        self.assertEqual(([], 0), (found.wrong, found.unnamed))
        self.assertAlmostEqual(5.2, found.warned_s)
        self.assertAlmostEqual(0.11, found.continued_s)
        self.assertIn("not warned", self.judged("stop-for-ever", [stopped, _told(8, lost)]).wrong[0])

    def test_an_outage_ends_nothing(self) -> None:
        series = {"t_s": [1.0, 2.0, 3.0], "received_bytes": [5, 0, 5], "rails": {}}
        document = {"results": [{"verify": {"errors": 0},
                                 "ranks": [{}, {"t0_monotonic_ns": 106_000_000_000, "series": series}]}]}
        ends = [End(7, 0, []), End(8, 0, [])]
        found = self.judged("stop", ends, document)
        self.assertEqual([], found.wrong)
        self.assertAlmostEqual(0.5, found.goes_on_s)
        series["received_bytes"][2] = 0
        self.assertEqual(["it does not go on"], self.judged("stop", ends, document).wrong)
        self.assertEqual(2, len(self.judged("stop", [End(7, 1, []), ends[1]]).wrong))

    def test_what_did_not_come_counts(self) -> None:
        loss = peer_losses.kLosses["cable-for-ever"]
        verdicts = [peer_promises.Verdict(error_s=[10.5, 11.5], took_s=0.25), peer_promises.Verdict(wrong=["a", "b"])]
        found = peer_promises.summary(loss, [10.0, 10.0], verdicts)
        self.assertEqual((1, 2, 11.5, 0.5, 1.25), tuple(found[name] for name in (
            "wrong", "errors", "error_worst_s", "late_least_s", "late_worst_s")))
        self.assertEqual(100, peer_promises.summary(loss, [10.0], verdicts[1:])["error_worst_s"])


if __name__ == "__main__":
    engine_lab.main()
