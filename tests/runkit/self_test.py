#!/usr/bin/env python3
"""Beside waits for its work, ends the work after an exception, and raises the work's exception. Failed tests with the
label timing run again."""
import contextlib
import io
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.dont_write_bytecode = True

from runkit import ctest, processes  # noqa: E402
from runkit.beside import Beside  # noqa: E402
from runkit.suites import Suite  # noqa: E402

# A build's only tests, as ctest lists them: `good` passes, `late` fails the first time, `broken` always fails.
CTEST_FILE = """
add_test(good true)
add_test(late sh -c "test -e {folder}/ran || {{ touch {folder}/ran; exit 1; }}")
add_test(broken false)
set_tests_properties(good late broken PROPERTIES LABELS "of_suite;{label}")
"""


class BesideTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = Path(folder.name) / "log"
        self.seen = []

    def run_command(self, *command):
        return processes.run_lines(command, 60, self.log, self.seen.append)

    def test_the_end_of_the_block_waits_for_the_work(self):
        with Beside(lambda interrupted: self.seen.append(self.run_command("sh", "-c", "sleep 0.3; echo done"))):
            pass
        self.assertEqual(["done", 0], self.seen)

    def test_an_exception_ends_the_work_and_its_processes(self):
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

    def test_the_block_raises_an_exception_of_the_work(self):
        def run(interrupted):
            raise ValueError("what went wrong")

        with self.assertRaisesRegex(ValueError, "what went wrong"), Beside(run):
            pass

    def test_a_command_behind_stand_back_runs_at_idle_priority(self):
        self.assertEqual(0, self.run_command(*processes.STAND_BACK, "chrt", "-p", "0"))
        self.assertIn("SCHED_IDLE", self.seen[0])


class AgainTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_tests(self, label, again=True):
        (self.folder / "CTestTestfile.cmake").write_text(CTEST_FILE.format(folder=self.folder, label=label))
        suite = Suite("some", str(self.folder), "^of_suite$", 60, "", again=again)
        with contextlib.redirect_stdout(io.StringIO()):
            return ctest.run_suite(suite, self.folder / "logs")

    def test_a_test_of_label_timing_runs_again(self):
        count = self.run_tests("timing")
        self.assertEqual("2 passed, 1 failed, 0 skipped", str(count))
        self.assertEqual(["some: late"], count.again)
        self.assertIn("some: broken", count.failures[0])

    def test_other_tests_and_tests_of_other_suites_run_once(self):
        for label, again in (("other", True), ("timing", False)):
            (self.folder / "ran").unlink(missing_ok=True)
            count = self.run_tests(label, again)
            self.assertEqual(("1 passed, 2 failed, 0 skipped", []), (str(count), count.again))

    def test_three_tests_that_ran_again_are_a_failure(self):
        count = ctest.Count(passed=3, again=["a", "b", "c"])
        count.judge_again()
        self.assertEqual(1, count.failed)


if __name__ == "__main__":
    unittest.main()
