"""Runs the tests of one suite by ctest and counts."""

import json
import os
import re
import shutil
import subprocess
from collections import Counter

from .count import Count
from .processes import ROOT, STAND_BACK, run_lines, tail
from .progress import Progress
from .suites import SUITES

TIMING = "timing"  # label of tests that depend on the load of the machine; a failed one runs again alone

ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "second_deadlock_stack=1:atexit_sleep_ms=0",
}
STARTED = re.compile(r"^\s*Start\s+\d+: (.+?)(?:  # .*)?$")
RESULT = re.compile(r"^\s*\d+/(\d+) Test\s+#\d+: (.+?)(?:  # .*?)? \.{3,}\s*"
                    r"(?:\*\*\*)?(Passed|Skipped|\S.*?)\s+[\d.]+ sec")
KILLED = "Subprocess killed"
SKIP_REASON = re.compile(r": Skipped\n(.+)|^skipped: (.+)", re.M)  # printed by GoogleTest and by our Python tests


def run_suite(suite, logs, behind=False):
    count, progress, log = Count(), Progress(), logs / f"{suite.name}.log"
    notes = notes_of(suite, logs)
    shutil.rmtree(notes, ignore_errors=True)
    notes.mkdir(parents=True)
    seen, expected, failing, running, killed = 0, 0, False, set(), []

    def on_line(line):
        nonlocal seen, expected, failing
        match = RESULT.match(line)
        if not match:
            if start := STARTED.match(line):
                running.add(start[1])
                failing = False
            if failing:
                print(line)
                count.explain(line)
            return
        seen, expected, test, outcome = seen + 1, int(match[1]), match[2], match[3]
        running.discard(test)
        failing = False
        if outcome == "Passed":
            count.passed += 1
        elif outcome in ("Skipped", "Not Run (Disabled)"):
            count.skipped += 1
        elif KILLED in outcome:  # the suite's time limit may have killed the test, which says nothing about the test
            killed.append(test)
        else:
            progress.clear()
            print(f"FAILED {suite.name}: {test} ({outcome})", flush=True)
            count.fail(f"{suite.name}: {test} ({outcome})")
            failing = True
        progress.show(f"{suite.name}: {seen} of {expected}, {test}")

    command = [*ctest(suite.preset, suite.folder), "-L", suite.labels, "-j", str(suite.jobs),
               "--timeout", str(suite.limit_s), "--output-on-failure", *(["-E", suite.leave] if suite.leave else [])]
    if behind:
        command = STAND_BACK + command
    status = run_lines(command, suite.limit_s, log, on_line, {**os.environ, **ENVIRONMENT, "TESTS_NOTES": str(notes)})
    progress.clear()
    if status is None:
        count.fail(f"{suite.name}: stopped after {suite.limit_s} s, its limit, "
                   f"with {seen - len(killed)} of {expected or '?'} tests done; these were running: "
                   f"{', '.join([*killed, *running]) or 'nothing'}")
        return count
    for test in killed:
        count.fail(f"{suite.name}: {test} (killed; its output: {log})")
    if seen != expected or (status != 0 and count.failed == 0):
        count.fail(f"{suite.name}: ctest ended with {status} after {seen} of {expected} tests:\n{tail(log, 20)}")
    elif seen == 0 and not suite.optional:
        count.fail(f"{suite.name}: no test has the label {suite.labels}")
    if suite.again:
        run_again(suite, logs, count)
    return count


def ctest(preset, folder=""):
    """Returns the beginning of a command that runs or lists tests of the preset's build."""
    wrapper = no_randomization() if preset == "tsan" else []
    return [*wrapper, "ctest", "--test-dir", str(ROOT / "build" / preset / folder)]


def run_again(suite, logs, count):
    """Runs each failed test with the label TIMING once more, alone. A test that then passes counts as passed, and its
    name is printed."""
    failed = count.failed_tests(suite.name)
    for test in sorted(failed & timing_tests(suite)) if failed else ():
        log = logs / f"{suite.name}-again-{test}.log"
        command = [*ctest(suite.preset, suite.folder), "-R", f"^{re.escape(test)}$", "--timeout", str(suite.limit_s),
                   "--output-on-failure"]
        if run_lines(command, suite.limit_s, log, lambda _: None, {**os.environ, **ENVIRONMENT}) == 0:
            count.passed_again(suite.name, test)
            print(f"passed again {suite.name}: {test}", flush=True)


def timing_tests(suite):
    return {test["name"] for test in listed(suite.preset) if TIMING in labels_of(test)}


def notes_of(suite, logs):
    """Returns a folder in which tests may leave files with figures for the record."""
    return logs / "notes" / suite.name


def no_randomization():
    """Returns a wrapper that turns address randomization off: g++ 12's thread sanitizer fails with that of new
    kernels."""
    wrapper = ["setarch", "-R"]
    return wrapper if subprocess.run([*wrapper, "true"], capture_output=True).returncode == 0 else []


def forgotten(preset):
    """Yields the names of the preset's tests that have no label of any suite."""
    wanted = [re.compile(suite.labels) for suite in SUITES if suite.labels]
    for test in listed(preset):
        if not any(pattern.search(label) for pattern in wanted for label in labels_of(test)):
            yield test["name"]


def listed(preset):
    """Returns ctest's description of each test of the preset. Programs that were not built have none."""
    shown = subprocess.run([*ctest(preset), "--show-only=json-v1"], capture_output=True)
    return [test for test in json.loads(shown.stdout)["tests"] if not test["name"].endswith("_NOT_BUILT")]


def labels_of(test):
    return [label for p in test.get("properties", []) if p["name"] == "LABELS" for label in p["value"]]


def skip_reasons(suite):
    """Returns a Counter of the reasons that tests of ctest's last run gave for being skipped."""
    log = ROOT / "build" / suite.preset / suite.folder / "Testing" / "Temporary" / "LastTest.log"
    reasons = Counter()
    for test in re.split(r"^\d+/\d+ Testing: ", log.read_text(errors="replace") if log.exists() else "",
                         flags=re.M)[1:]:
        if said := SKIP_REASON.search(test):
            reasons[said[1] or said[2]] += 1
    return reasons
