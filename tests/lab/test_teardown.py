"""A lab leaves no namespace, process or file behind, however it ends."""
from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
import unittest

import support
from lab import state
from support import alive, eventually, lab, namespaces, start, state_file

# A rank that starts a child in another session, prints the lab's name and the pids of both, and stays.
_STAY = ["--nics", "1", "--", "sh", "-c", "setsid sleep 300 & echo $RWLAB $$ $!; wait; sleep 300"]


class Running:
    """A lab whose ranks sleep. All of them have started when the constructor returns."""

    def __init__(self, *options: str, ranks: int = 2) -> None:
        self.process = start("run", *options, *_STAY)
        self.name, self.pids = "", []
        for _ in range(ranks):
            match = re.search(r"(rwlab-\S+) (\d+) (\d+)", self.process.stdout.readline())
            assert match, self.process.stderr.read()
            self.name = match[1]
            self.pids += [int(match[2]), int(match[3])]

    def gone(self) -> bool:
        return (not namespaces(self.name) and not state_file(self.name).exists()
                and not any(alive(pid) for pid in self.pids))

    def end(self) -> tuple[int, str]:
        """Waits until the lab has ended. Returns its exit status and stderr."""
        _, said = self.process.communicate(timeout=20)
        return self.process.returncode, said


class Teardown(unittest.TestCase):
    def check(self, running: Running, status: int) -> None:
        found, said = running.end()
        self.assertEqual(found, status, said)
        self.assertTrue(running.gone(), f"{namespaces(running.name)} {[pid for pid in running.pids if alive(pid)]}")

    def test_ctrl_c(self) -> None:
        running = Running()
        os.killpg(running.process.pid, signal.SIGINT)  # as a terminal does
        self.check(running, 130)

    def test_second_ctrl_c_does_not_hurt(self) -> None:
        running = Running()
        for _ in range(3):
            running.process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        self.check(running, 130)

    def test_sigterm(self) -> None:
        running = Running()
        running.process.terminate()
        self.check(running, 143)

    def test_sigterm_of_the_whole_group(self) -> None:
        running = Running()
        os.killpg(running.process.pid, signal.SIGTERM)
        self.check(running, 143)

    def test_sigterm_while_the_lab_is_made(self) -> None:
        for delay_s in (0.05, 0.15, 0.3, 0.5):
            process = start("run", "--", "sleep", "300")
            time.sleep(delay_s)
            os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=20)
            prefix = f"rwlab-{process.pid}"
            self.assertTrue(eventually(lambda: not any(name.startswith(prefix) for name in state.namespaces())),
                            delay_s)

    def test_a_process_group_that_a_rank_made_ends_with_it(self) -> None:
        # Over loopback no namespace lists the processes of a rank.
        process = start("run", "--loopback", "--hosts", "1", "--", "bash", "-c", "set -m; sleep 300 & echo $!; wait")
        pid = int(process.stdout.readline().split()[1])
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 143)
        self.assertFalse(alive(pid))

    def test_ranks_that_ignore_sigterm(self) -> None:
        process = start("run", "--nics", "1", "--", "sh", "-c", "trap '' TERM; echo $RWLAB; while :; do sleep 1; done")
        name = process.stdout.readline().split()[1]
        process.terminate()
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 143)
        self.assertEqual(namespaces(name), [])

    def test_sigkill_of_the_lab(self) -> None:
        running = Running()
        running.process.kill()
        running.end()
        self.assertTrue(eventually(running.gone))

    def test_sigkill_of_a_rank(self) -> None:
        running = Running()
        for pid in running.pids[0::2]:
            os.kill(pid, signal.SIGKILL)
        running.pids = running.pids[0::2]  # a child in another session dies with the namespace
        self.check(running, 137)

    def test_loopback(self) -> None:
        running = Running("--loopback")
        running.pids, detached = running.pids[0::2], running.pids[1::2]
        running.process.terminate()
        self.check(running, 143)
        for pid in detached:  # no namespace lists them, so the lab leaves them alone
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def test_leftovers_of_a_lab_that_lost_its_guardian_too(self) -> None:
        running = Running()
        os.killpg(running.process.pid, signal.SIGSTOP)
        guardians = subprocess.run(["pgrep", "-P", str(running.process.pid)], capture_output=True, text=True,
                                   check=True)
        for pid in [*map(int, guardians.stdout.split()), running.process.pid, *running.pids]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        running.end()
        self.assertTrue(namespaces(running.name))
        self.assertEqual(lab("run", "--hosts", "1", "--nics", "1", "--", "true").returncode, 0)
        self.assertTrue(running.gone())

    def test_two_labs_at_once(self) -> None:
        first, second = Running(), Running()
        self.assertNotEqual(first.name, second.name)
        self.assertEqual(len(namespaces(second.name)), 2)
        first.process.terminate()
        self.check(first, 143)
        self.assertEqual(len(namespaces(second.name)), 2)
        self.assertTrue(all(alive(pid) for pid in second.pids))
        second.process.terminate()
        self.check(second, 143)


if __name__ == "__main__":
    support.main()
