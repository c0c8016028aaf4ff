"""Counts tests by outcome, and keeps the reasons of failures."""

import re
from dataclasses import dataclass, field

# The first such lines of a failing test's output are printed again at the end, since CI keeps only the end of a long
# output.
WHY = re.compile(r"^ERROR: |Error\b|error:|: Failure$|Which is: |^FAIL|replay: |does not hold|SUMMARY: "
                 r"|WARNING: Thread")
WHY_LINES_MAX = 4
AGAIN_MAX = 2  # tests of one run that may pass only when run again


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list = field(default_factory=list)
    again: list = field(default_factory=list)  # tests that passed only when run again

    def fail(self, what):
        self.failed += 1
        self.failures.append(what)

    def explain(self, line):
        """Adds a line of the last failure's output, if the line explains the failure."""
        if WHY.search(line) and self.failures[-1].count("\n") < WHY_LINES_MAX:
            self.failures[-1] += f"\n    {line.strip()[:200]}"

    def failed_tests(self, suite):
        """Returns the names of the suite's failed tests."""
        return {match[1] for failure in self.failures if (match := re.match(re.escape(suite) + r": (\S+) \(", failure))}

    def passed_again(self, suite, test):
        """Records that a failed test passed when run again."""
        self.failures = [failure for failure in self.failures if not failure.startswith(f"{suite}: {test} (")]
        self.failed -= 1
        self.passed += 1
        self.again.append(f"{suite}: {test}")

    def judge_again(self):
        """Adds a failure if too many tests passed only when run again."""
        if len(self.again) > AGAIN_MAX:
            self.fail(f"{len(self.again)} tests passed only when run again; at most {AGAIN_MAX} may: "
                      f"{', '.join(self.again)}")

    def add(self, other):
        for name in ("passed", "failed", "skipped", "failures", "again"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
