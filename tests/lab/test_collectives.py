"""Collectives among the hosts of a lab: every rail carries its share, and the programs start under launchers. No test
measures time."""
from __future__ import annotations

import shutil
import sys
import unittest
from pathlib import Path

import engine_lab
import support
from engine_lab import Outcome, in_lab, kBin

_RAILS = ["--nics", "2", "--rate", "2gbit,2gbit", "--shape", "host"]
_MPI_STEP = support.kPerf / "bench/compare" / "mpi_step.py"
_TORCHRUN = Path(__file__).resolve().parents[2] / ".venv" / "bin" / "torchrun"
_MIB = 1 << 20
_ITERATIONS = 5


def _command(program: str, mib: int) -> list[str]:
    return [str(kBin / program), "-b", f"{mib}M", "-e", f"{mib}M", "-n", str(_ITERATIONS), "-w", "1"]


class CollectiveTest(unittest.TestCase):
    def assert_right(self, outcome: Outcome, program: str, ranks: int) -> None:
        """Asserts one table of this program, `ranks` ranks in all tables together, and no wrong element."""
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(ranks, outcome.stdout.count("#  Rank"), str(outcome))
        self.assertEqual(1, outcome.stdout.count(f"# Collective test concluded: {program}"), str(outcome))
        tables = outcome.stdout.count("# Collective test concluded")
        self.assertEqual(tables, outcome.stdout.count("# Out of bounds values : 0 OK"), str(outcome))


class Rails(CollectiveTest):
    def test_a_sequence_of_collectives_uses_both(self) -> None:
        # The MiB that a rank must send for an operation of 8 MiB. Each operation runs out of place and in place.
        programs = {"all_gather_perf": 4, "reduce_scatter_perf": 4, "all_reduce_perf": 8}
        sequence = " && ".join(" ".join(_command(program, 8)) for program in programs)
        outcome = in_lab([*_RAILS, "--favour"], ["sh", "-c", sequence])
        for program in programs:
            self.assert_right(outcome, program, len(programs) * 2)
        sent = [[outcome.carried(host)[nic][0] for nic in ("eth0", "eth1")] for host in (0, 1)]
        for one in sent:
            self.assertGreater(sum(one), 2 * _ITERATIONS * sum(programs.values()) * _MIB, (sent, str(outcome)))
            self.assertGreater(min(one), 0.1 * sum(one), (sent, str(outcome)))  # a busy machine may be uneven
        share = sum(one[0] for one in sent) / sum(map(sum, sent))
        self.assertTrue(0.25 <= share <= 0.75, (share, sent, str(outcome)))


class Hosts(CollectiveTest):
    def test_the_first_rank_maps_its_own_name_to_loopback(self) -> None:
        meet = """
            file=$(mktemp); echo "$([ $RANK = 0 ] && echo 127.0.1.1 || echo $MASTER_ADDR) head" > $file
            mount --bind $file /etc/hosts; rm -f $file
            MASTER_ADDR=head exec "$@" """
        outcome = in_lab(_RAILS, ["unshare", "-m", "sh", "-c", meet, "sh", *_command("all_reduce_perf", 1)])
        self.assert_right(outcome, "all_reduce_perf", 2)

    def test_two_level_sends_one_ranks_bytes_between_hosts(self) -> None:
        outcome = in_lab(_RAILS, ["env", "RAILWEAVE_ALGO=two_level", *_command("all_reduce_perf", 8), "-t", "2"])
        self.assert_right(outcome, "all_reduce_perf", 4)
        operations = 2 * (_ITERATIONS + 1) + 4  # out of and in place, one warm-up each; four checked ones
        for host in (0, 1):
            sent = sum(outcome.carried(host)[nic][0] for nic in ("eth0", "eth1"))
            self.assertGreater(sent, 2 * _ITERATIONS * 8 * _MIB, str(outcome))
            self.assertLess(sent, 1.2 * operations * 8 * _MIB, str(outcome))  # a ring of four ranks: 1.5


class Launched(CollectiveTest):
    @unittest.skipUnless(shutil.which("mpirun") and (kBin.parent / "lib" / "railweave-mpi.so").exists(),
                         "no Open MPI here (tools/setup packages)")
    def test_mpirun_across_hosts(self) -> None:
        for per_host in (1, 2):
            with self.subTest(ranks_per_host=per_host):
                lab = [*_RAILS, "--ranks-per-host", str(per_host)]
                outcome = in_lab(lab, [sys.executable, "-B", str(_MPI_STEP), *_command("all_gather_perf", 8)])
                self.assert_right(outcome, "all_gather_perf", 2 * per_host)
                for host in ("host0", "host1"):
                    self.assertEqual(per_host, outcome.stdout.count(f" on {host:>10} device"), str(outcome))

    @unittest.skipUnless(_TORCHRUN.exists(), "torch is not in .venv (tools/setup torch)")
    def test_torchrun_across_hosts(self) -> None:
        # The lab's rank on each host is a torchrun launcher, with the lab's RANK as its node rank. Torchrun sets the
        # variables of its own ranks.
        launch = ('node=$RANK; unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE; exec "$0" --no-python --nnodes 2 '
                  '--node-rank $node --nproc-per-node 2 --master-addr $MASTER_ADDR --master-port $MASTER_PORT "$@"')
        outcome = in_lab(_RAILS, ["sh", "-c", launch, str(_TORCHRUN), *_command("all_reduce_perf", 8)], deadline_s=90)
        self.assert_right(outcome, "all_reduce_perf", 4)


if __name__ == "__main__":
    engine_lab.main()
