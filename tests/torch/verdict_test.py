#!/usr/bin/env python3
"""The verdict on outcomes of torch's tests."""

import tempfile
import unittest
from pathlib import Path

import verdict
from verdict import Result


def results_of(*outcomes):
    """Returns results of test_a at world size 2: its outcome under our own name, then in Gloo's place."""
    return [Result("test_a", mode, 2, outcome, "why") for mode, outcome in zip(verdict.OURS, outcomes)]


class NotConforming(unittest.TestCase):
    def faults(self, *outcomes, control=True, exceptions=()):
        return verdict.not_conforming(results_of(*outcomes), {("test_a", 2): control}, exceptions)

    def test_one_of_our_modes_is_enough(self):
        self.assertEqual(self.faults("passed", "skipped"), [])
        self.assertEqual(self.faults("skipped", "passed"), [])
        self.assertEqual(self.faults("failed", "passed"), [])

    def test_a_skip_is_not_enough(self):
        self.assertEqual(self.faults("skipped", "skipped"),
                         ["test_a at world size 2: railweave skipped: why; as_gloo skipped: why"])

    def test_what_gloo_fails_or_was_never_asked_is_not_demanded(self):
        self.assertEqual(self.faults("failed", "skipped", control=False), [])
        self.assertEqual(verdict.not_conforming(results_of("failed", "failed"), {}, ()), [])

    def test_an_exception_is_allowed_to_fail_and_not_to_pass(self):
        self.assertEqual(self.faults("failed", "skipped", exceptions=["test_a"]), [])
        self.assertEqual(self.faults("skipped", "passed", exceptions=["test_a"]), ["test_a: an exception that passes"])

    def test_an_exception_may_pass_at_some_world_sizes(self):
        results = results_of("failed", "failed") + [Result("test_a", "railweave", 3, "passed")]
        control = {("test_a", 2): True, ("test_a", 3): True}
        self.assertEqual(verdict.not_conforming(results, control, ["test_a"]), [])

    def test_exceptions_that_were_not_run_say_nothing(self):
        self.assertEqual(verdict.not_conforming([], {("test_a", 2): True}, ["test_a"]), [])


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "file"

    def exceptions(self, text, tests=("test_a", "test_b")):
        self.path.write_text(text)
        return verdict.read_exceptions(self.path, tests)

    def test_exceptions_have_reasons(self):
        self.assertEqual(self.exceptions("# of all\ntest_a  it cannot  # nor later\n"), ({"test_a": "it cannot"}, []))
        self.assertEqual(self.exceptions("test_a\n")[1], ["file: test_a: a reason is missing"])

    def test_exceptions_are_tests(self):
        self.assertEqual(self.exceptions("test_c it is gone\n")[1], ["file: test_c: no such test"])

    def test_exceptions_are_few(self):
        tests = [f"test_{i}" for i in range(verdict.MOST_EXCEPTIONS + 1)]
        self.assertEqual(self.exceptions("".join(f"{test} why\n" for test in tests), tests)[1],
                         ["file: 13 exceptions, and 12 are allowed"])

    def test_the_control_is_read_as_it_was_written(self):
        results = [Result("test_a", "gloo", 2, "passed"), Result("test_a", "gloo", 3, "skipped", 'no "GPU"')]
        verdict.write_control(self.path, "2.13.0", results)
        self.assertEqual(verdict.read_control(self.path), {("test_a", 2): True, ("test_a", 3): False})

    def test_the_chosen(self):
        self.path.write_text("# collectives\ntest_a railweave 2\n\ntest_b as_gloo 3\n")
        self.assertEqual([(r.test, r.kind) for r in verdict.read_chosen(self.path)],
                         [("test_a", ("railweave", 2)), ("test_b", ("as_gloo", 3))])


if __name__ == "__main__":
    unittest.main()
