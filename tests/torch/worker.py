"""Runs torch's tests one after the other, each in a process forked from this one, which has torch imported.

Serves tests/torch/conformance: for each line of JSON {"test", "limit_s", "log"} on the standard input, writes a line
{"outcome": "passed" | "failed" | "skipped", "reason", "seconds"} to the standard output. The first line of output has
torch's version and the names of the tests. The output of a test goes to its log.
"""

import json
import os
import re
import select
import signal
import sys
import time
import unittest
from pathlib import Path

from distributed_tests import die_with_parent, torch_distributed_tests

LONGEST_REASON = 300
# Torch's message that a rank's process ended badly. The log has the reason.
BAD_END = re.compile(r"Expected 0 but got (-?\d+)\.")


def what_was_raised(text):
    """Returns the last exception of the tracebacks, with the next line, where assertions have their values. Without an
    exception: the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    raised = [i for i, line in enumerate(lines) if re.match(r"[\w.]*(Error|Exception)\b: ", line)]
    return " ".join(lines[raised[-1] : raised[-1] + 2] if raised else lines[-1:])


def why_failed(text, log):
    bad_end = BAD_END.search(text)
    if not bad_end:
        return what_was_raised(text)
    return f"a rank ended with status {bad_end[1]}: {what_was_raised(log.read_text(errors='replace'))}"


def verdict(result, log):
    """Returns (outcome, reason) of a unittest.TestResult of one test. Prints the traceback of a failure."""
    bad = result.failures + result.errors
    if bad:
        text = bad[0][1]
        reason = why_failed(text, log)
        print(text, flush=True)
        return "failed", reason[:LONGEST_REASON]
    if result.skipped:
        return "skipped", result.skipped[0][1]
    return "passed", ""


def lead(tests, name, log, answer):
    """Runs in the forked process: runs the test, which forks its ranks, and writes the outcome to `answer`. Never
    returns."""
    os.setsid()
    die_with_parent()
    with log.open("w") as to:
        os.dup2(to.fileno(), 1)
        os.dup2(to.fileno(), 2)
    result = unittest.TestResult()
    tests.setUpClass()
    tests(name).run(result)
    sys.stdout.flush()
    os.write(answer, json.dumps(verdict(result, log)).encode())
    os._exit(0)


def run_one(tests, name, limit_s, log):
    """Runs a test for at most `limit_s` and kills all its processes. Returns (outcome, reason)."""
    test = getattr(tests, name)
    if getattr(test, "__unittest_skip__", False):
        return "skipped", test.__unittest_skip_why__
    answer, write_end = os.pipe()
    leader = os.fork()
    if leader == 0:
        os.close(answer)
        lead(tests, name, log, write_end)
    os.close(write_end)
    ready, _, _ = select.select([answer], [], [], limit_s)
    text = os.read(answer, 65536) if ready else b""
    os.close(answer)
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:  # the leader has not made its process group yet
        os.kill(leader, signal.SIGKILL)
    os.waitpid(leader, 0)
    if text:
        return json.loads(text)
    return "failed", "the process that ran it died" if ready else f"not over after {limit_s:g} s"


def main():
    mode, world_size = sys.argv[1], int(sys.argv[2])
    to_runner = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    tests = torch_distributed_tests(mode, world_size)
    import torch
    import torch._dynamo  # noqa: F401  a rank's first optimizer would import it: more than a second for each rank

    names = unittest.TestLoader().getTestCaseNames(tests)
    print(json.dumps({"torch": torch.__version__, "tests": names}), file=to_runner)
    for line in sys.stdin:
        asked = json.loads(line)
        began = time.monotonic()
        outcome, reason = run_one(tests, asked["test"], asked["limit_s"], Path(asked["log"]))
        seconds = round(time.monotonic() - began, 2)
        print(json.dumps({"outcome": outcome, "reason": reason, "seconds": seconds}), file=to_runner)


main()
