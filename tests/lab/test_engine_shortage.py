"""In mid-transfer a process may open no more descriptors, or get no more memory (rlimits), and a rail is lost whose
lane the process would dial or accept again. Never a hang, a crash or a wrong byte."""
from __future__ import annotations

import unittest

import engine_lab
from engine_lab import EngineTest, Outcome, net_perf

_TWO = ["--favour", "--nics", "2", "--rate", "200mbit"]
_RESET = "$RWLAB_PROGRAM set --host 1 --nic 1 --reset"


class Shortage(EngineTest):
    def short(self, victim: int, size: str, what: str, *lab: str) -> Outcome:
        """Runs the commands `what` at rank `victim` once eth1 carried 3 MB."""
        return net_perf([*_TWO, *lab], "--bytes", size, "--both", deadline_s=90,
                        beside=f"[ $RANK != {victim} ] || (moved eth1 3000000; {what}) &")

    def test_a_lost_rail_returns_once_there_are_descriptors_again(self) -> None:
        for victim, role in enumerate(("dialler", "acceptor")):
            with self.subTest(without=role):
                outcome = self.short(victim, "192M", f"""prlimit --pid $pid --nofile=3:; {_RESET}; sleep 1
                    echo without $(cat /sys/class/net/eth1/statistics/rx_bytes); sleep 0.5
                    echo until $(cat /sys/class/net/eth1/statistics/rx_bytes); prlimit --pid $pid --nofile=1024:""")
                self.assertEqual(0, outcome.status, str(outcome))
                self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
                without, until = (int(outcome.values(victim, word)[0][0]) for word in ("without", "until"))
                self.assertLess(until - without, 1_000_000, str(outcome))  # the rail carried nothing meanwhile
                self.assertGreater(outcome.carried(victim)["eth1"][1] - until, 5_000_000, str(outcome))

    def test_a_rail_readdressed_in_a_shortage_carries_afterwards(self) -> None:
        """The kernel reports the address only once, during the shortage. The engine must look for it again."""
        outcome = self.short(1, "256M", """prlimit --pid $pid --nofile=3:
            $RWLAB_PROGRAM set --host 1 --nic 1 --address 10.77.1.77/24
            $RWLAB_PROGRAM set --host 1 --nic 1 --reset; sleep 1
            echo until $(cat /sys/class/net/eth1/statistics/rx_bytes); prlimit --pid $pid --nofile=1024:""",
                             "--disable-ipv6")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        until = int(outcome.values(1, "until")[0][0])
        self.assertGreater(outcome.carried(1)["eth1"][1] - until, 5_000_000, str(outcome))

    def test_without_memory_it_goes_on_or_ends_with_an_error(self) -> None:
        for victim in (0, 1):
            with self.subTest(without=victim):
                outcome = self.short(victim, "48M", f"""
                    kib=$(sed -n 's/^VmSize:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/$pid/status)
                    prlimit --pid $pid --as=$(($kib * 1024))
                    {_RESET}""")
                self.assertIn(outcome.status, (0, 1), str(outcome))
                print(outcome.status, end=" ... ", flush=True)
                if outcome.status == 0:
                    self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))


if __name__ == "__main__":
    engine_lab.main()
