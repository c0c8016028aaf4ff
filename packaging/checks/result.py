"""The last result of `make dist`, as packaging/result.txt has it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    """What a check saw. `problem`: empty if the check passed."""

    name: str
    seen: str
    problem: str = ""


def text(commit: str, host: str, outcomes: list[Outcome], packages: list[Path]) -> str:
    """Returns the whole page. A problem is shortened to its first line."""
    failed = sum(bool(outcome.problem) for outcome in outcomes)
    width = max((len(outcome.name) for outcome in outcomes), default=0)
    lines = [f"# make dist, commit {commit}, on {host}", ""]
    for outcome in outcomes:
        told = outcome.problem.splitlines()[0] if outcome.problem else outcome.seen
        lines.append(f"{'FAIL' if outcome.problem else 'PASS'}  {outcome.name:{width}}  {told}")
    lines += ["", f"{len(outcomes) - failed} passed, {failed} failed", "", "Bytes of each package:"]
    lines += [f"{path.stat().st_size:>10}  {path.name}" for path in sorted(packages)]
    return "\n".join(lines) + "\n"
