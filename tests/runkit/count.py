"""How many tests passed, and why others did not."""

import re
from dataclasses import dataclass, field

WHY = re.compile(r"^ERROR: |Error\b|error:|: Failure$|Which is: |^FAIL|replay: |does not hold|SUMMARY: |WARNING: Thread")  # of what a failing test says ...
WHY_LINES_MAX = 4  # ... the first such lines are said once more at the end, which is what CI keeps of a long output


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list = field(default_factory=list)

    def fail(self, what):
        self.failed += 1
        self.failures.append(what)

    def explain(self, line):
        """Another line of what the last failure says."""
        if WHY.search(line) and self.failures[-1].count("\n") < WHY_LINES_MAX:
            self.failures[-1] += f"\n    {line.strip()[:200]}"

    def add(self, other):
        for name in ("passed", "failed", "skipped", "failures"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
