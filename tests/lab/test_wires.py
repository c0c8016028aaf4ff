"""Wires between hosts (RAILWEAVE_WIRES): the wire that both ends have carries, and every byte is right. A rail that is
lost under libfabric costs no request. Skipped where libfabric has no provider for these links."""
from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import engine_lab
import support
from engine_lab import EngineTest, Outcome, net_perf

_TWO = ["--nics", "2", "--rate", "500mbit"]
_LOSSES = support.kPerf / "bench/faults" / "rail_loss_perf.py"
_LIBFABRIC_2 = support.kPerf.parent / ".venv/lib/mpich/libfabric.so.1"
_RAILWEAVE = engine_lab.kBin / "railweave"


def why_no_ofi() -> str | None:
    """Returns why a rail of this host lacks the wire ofi; None: it has the wire."""
    done = subprocess.run([str(_RAILWEAVE), "info", "--json"], env={"RAILWEAVE_RAILS": "lo"}, capture_output=True,
                          text=True, timeout=30, check=False)
    wires = json.loads(done.stdout)["rails"][0]["wires"]
    return next(wire["why_not"] for wire in wires if wire["name"] == "ofi")


def with_wires(rank0: str, rank1: str, *options: str, setup: str = "") -> Outcome:
    """Runs net_perf, each rank with its RAILWEAVE_WIRES."""
    return net_perf(_TWO, *options,
                    setup=f"export RAILWEAVE_WIRES={rank0}; [ $RANK = 0 ] || export RAILWEAVE_WIRES={rank1}\n{setup}")


class Carrying(EngineTest):
    def assert_carries(self, outcome: Outcome, wire: str) -> None:
        """Asserts that every lane goes by this wire, and that both rails carried."""
        for rank in (0, 1):
            self.assertEqual({wire}, {lane.wire for lane in outcome.lanes(rank)}, str(outcome))
        sent = outcome.sent_by_rail(0)
        self.assertEqual({"eth0", "eth1"}, {rail for rail, bytes_sent in sent.items() if bytes_sent > 0}, str(outcome))


class Choice(Carrying):
    def test_a_host_without_the_wire_gets_the_plain_one(self) -> None:
        """Either host may be the one that lacks libfabric. The one that dials is rank 0, which sends."""
        for rank0, rank1 in (("ofi,tcp", "tcp"), ("tcp", "ofi,tcp")):
            with self.subTest(rank0=rank0, rank1=rank1):
                self.assert_carries(self.assert_works(with_wires(rank0, rank1)), "tcp")

    def test_hosts_without_a_wire_in_common_are_told_so(self) -> None:
        outcome = with_wires("tcp", "ofi", "--bytes", "1M")
        self.assertNotEqual(0, outcome.status, str(outcome))
        self.assertIn("no wire in common", str(outcome))

    def test_a_wire_that_does_not_exist_is_an_error_by_name(self) -> None:
        outcome = with_wires("tcp,rdma", "tcp", "--bytes", "1M")
        self.assertNotEqual(0, outcome.status, str(outcome))
        self.assertIn("RAILWEAVE_WIRES: found 'tcp,rdma', expected ", str(outcome))

    def test_encryption_refuses_wires_that_cannot_encrypt(self) -> None:
        setup = ("umask 077; key=$(mktemp); echo a key of enough bytes > $key\n"
                 "export RAILWEAVE_ENCRYPT=1 RAILWEAVE_KEY_FILE=$key; trap 'rm -f $key' EXIT")
        outcome = with_wires("ofi,tcp", "ofi,tcp", setup=setup)
        self.assertEqual(0, outcome.status, str(outcome))
        self.assert_carries(outcome, "tcp")
        self.assertIn("wire ofi is not used on rail eth0: this wire cannot encrypt, and RAILWEAVE_ENCRYPT is on",
                      "\n".join(outcome.warnings(0)))


class Libfabric(Carrying):
    def setUp(self) -> None:
        why = why_no_ofi()
        if why is not None:
            self.skipTest(why)

    def test_both_rails_carry_by_libfabric(self) -> None:
        self.assert_carries(self.assert_works(with_wires("ofi,tcp", "ofi,tcp", "--bytes", "100M")), "ofi")

    def test_hosts_with_different_generations_go_by_tcp(self) -> None:
        """Either generation may be the one that dials. Their providers differ: `net` here, and `tcp`."""
        if not _LIBFABRIC_2.exists():
            self.skipTest(f"{_LIBFABRIC_2} is missing; run tools/setup python")
        for rank in (0, 1):
            with self.subTest(rank_with_libfabric_2=rank):
                setup = f"[ $RANK != {rank} ] || export RAILWEAVE_OFI_LIBRARY={_LIBFABRIC_2}"
                outcome = with_wires("ofi,tcp", "ofi,tcp", setup=setup)
                self.assertEqual(0, outcome.status, str(outcome))
                self.assert_carries(outcome, "tcp")
                self.assertIn("use the same libfabric at both ends", "\n".join(outcome.warnings(1)))

    def test_without_tcp_in_the_list(self) -> None:
        self.assert_carries(self.assert_works(with_wires("ofi", "ofi")), "ofi")

    def test_both_ways_with_checksums(self) -> None:
        outcome = with_wires("ofi", "ofi", "--both", setup="export RAILWEAVE_CHECKSUM=1")
        self.assert_carries(self.assert_works(outcome), "ofi")

    def test_a_lost_rail_costs_no_request(self) -> None:
        for kind in ("silent", "reset"):
            with self.subTest(kind=kind), tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "result.json"
                done = support.lab("run", "--nics", "2", "--rate", "1gbit", "--shape", "switch", "--timeout", "100",
                                   "--", "env", "RAILWEAVE_WIRES=ofi", sys.executable, "-B", str(_LOSSES), "--kind",
                                   kind, "--trials", "1", "--programs", str(engine_lab.kBin), "--json", str(file),
                                   timeout_s=120)
                self.assertEqual(0, done.returncode, done.stdout + done.stderr)
                found = json.loads(file.read_text())
                self.assertEqual((1, 0, 0),
                                 tuple(found["summary"][name] for name in ("trials", "errors", "wrong_bytes")), found)
                self.assertTrue(all(trial["returned_s"] is not None for trial in found["trials"]), found)


if __name__ == "__main__":
    support.main()
