#!/usr/bin/env python3
"""What runs beside something else is waited for, ended with it, and heard where it fails."""
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.dont_write_bytecode = True

from runkit import processes  # noqa: E402
from runkit.beside import Beside  # noqa: E402


class BesideTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = Path(folder.name) / "log"
        self.seen = []

    def run_command(self, *command):
        return processes.run_lines(command, 60, self.log, self.seen.append)

    def test_it_is_waited_for(self):
        with Beside(lambda interrupted: self.seen.append(self.run_command("sh", "-c", "sleep 0.3; echo done"))):
            pass
        self.assertEqual(["done", 0], self.seen)

    def test_an_exception_ends_it_and_all_that_it_began(self):
        began = time.monotonic()

        def run(interrupted):
            self.run_command("sh", "-c", "sleep 50 & echo on; sleep 50")
            self.seen.append(interrupted.is_set())

        with self.assertRaises(KeyboardInterrupt), Beside(run):
            while not self.seen:
                time.sleep(0.01)
            raise KeyboardInterrupt
        self.assertEqual(["on", True], self.seen)
        self.assertEqual(set(), processes.LEADERS)
        self.assertLess(time.monotonic() - began, 40)

    def test_its_failure_is_told(self):
        def run(interrupted):
            raise ValueError("what went wrong")

        with self.assertRaisesRegex(ValueError, "what went wrong"), Beside(run):
            pass

    def test_who_stands_back_still_runs(self):
        self.assertEqual(0, self.run_command(*processes.STAND_BACK, "chrt", "-p", "0"))
        self.assertIn("SCHED_IDLE", self.seen[0])


if __name__ == "__main__":
    unittest.main()
