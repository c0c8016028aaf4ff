"""Judges the outcomes of torch's tests: the tests that do not conform, and a table."""

import json
from collections import Counter
from dataclasses import dataclass

OURS = ("railweave", "as_gloo")
MODES = (*OURS, "gloo")
MOST_EXCEPTIONS = 12


@dataclass
class Result:
    test: str
    mode: str
    world_size: int
    outcome: str = "failed"  # or passed, or skipped
    reason: str = ""
    seconds: float = 0.0

    @property
    def kind(self):
        """The mode and the world size. One worker runs results of one kind."""
        return self.mode, self.world_size


def lines_of(path):
    """Returns the file's lines without comments and empty lines."""
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    return [line for line in lines if line]


def read_chosen(path):
    """Returns the results to fill in, from lines "test mode world_size"."""
    return [Result(test, mode, int(size)) for test, mode, size in (line.split() for line in lines_of(path))]


def read_exceptions(path, tests):
    """Returns ({test: reason}, faults of the file)."""
    exceptions = dict((line.split(None, 1) + [""])[:2] for line in lines_of(path))
    faults = [f"{path.name}: {test}: no such test" for test in exceptions if test not in tests]
    faults += [f"{path.name}: {test}: a reason is missing" for test, reason in exceptions.items() if not reason]
    if len(exceptions) > MOST_EXCEPTIONS:
        faults.append(f"{path.name}: {len(exceptions)} exceptions, and {MOST_EXCEPTIONS} are allowed")
    return exceptions, faults


def read_control(path):
    """Returns {(test, world size): whether Gloo passes the test}."""
    tests = json.loads(path.read_text())["tests"]
    return {(test, int(size)): outcome == "passed" for test, sizes in tests.items() for size, outcome in sizes.items()}


def write_control(path, version, results):
    """Writes Gloo's outcomes, a line for each test."""
    outcomes = {}
    for r in results:
        outcomes.setdefault(r.test, {})[str(r.world_size)] = r.outcome + (f": {r.reason}" if r.reason else "")
    tests = ",\n".join(f"  {json.dumps(test)}: {json.dumps(sizes)}" for test, sizes in sorted(outcomes.items()))
    path.write_text(f'{{"torch": "{version}", "tests": {{\n{tests}\n}}}}\n')


def not_passed(results):
    return [f"{r.test} as {r.mode} at world size {r.world_size}: {r.outcome}: {r.reason}"
            for r in results if r.outcome != "passed"]


def not_conforming(results, control, exceptions):
    """Returns a line for each test and world size that passes under Gloo and in neither of our modes, and for each
    exception that passes at every world size. `results`: of both of our modes."""
    ways = {}
    for result in results:
        key = result.test, result.world_size
        if result.mode in OURS and control.get(key):
            ways.setdefault(key, []).append(result)
    passed = {key: any(way.outcome == "passed" for way in ours) for key, ours in ways.items()}
    faults = [f"{test} at world size {size}: "
              + "; ".join(f"{w.mode} {w.outcome}: {w.reason}" for w in ways[test, size])
              for test, size in ways if test not in exceptions and not passed[test, size]]
    for test in exceptions:
        outcomes = [passed[key] for key in ways if key[0] == test]
        if outcomes and all(outcomes):
            faults.append(f"{test}: an exception that passes")
    return faults


def table(results):
    counts = Counter((*r.kind, r.outcome) for r in results)
    rows = ["mode        world size   passed   failed  skipped   seconds"]
    for mode, size in dict.fromkeys(r.kind for r in results):
        seconds = sum(r.seconds for r in results if r.kind == (mode, size))
        numbers = "".join(f"{counts[mode, size, outcome]:9}" for outcome in ("passed", "failed", "skipped"))
        rows.append(f"{mode:12}{size:10}{numbers}{seconds:10.0f}")
    return rows
