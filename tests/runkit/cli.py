"""Builds what the test suites need, runs them and counts. The last line is `N passed, N failed, N skipped`."""

import argparse
import contextlib
import os
import signal
import sys
import textwrap
import time
from functools import partial
from pathlib import Path

from .beside import Beside
from .builds import Ahead, build
from .count import Count
from .ctest import forgotten, notes_of, run_suite, skip_reasons
from .processes import ROOT
from .sources import git
from .suites import SUITES

ENDINGS = (signal.SIGINT, signal.SIGTERM)


def arguments(argv):
    parser = argparse.ArgumentParser(prog="tests/run", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE",
                        help="suites to run (default: all that --list does not mark)")
    parser.add_argument("--record", metavar="FILE", type=Path, help="write what ran, where, and the outcomes")
    parser.add_argument("--list", action="store_true", help="list the suites and run none")
    args = parser.parse_args(argv)
    names = [suite.name for suite in SUITES]
    for name in args.suites:
        if name not in names:
            parser.error(f"no suite is called {name}; there are {', '.join(names)}")
    if args.record and (args.record.is_dir() or not args.record.absolute().parent.is_dir()):
        parser.error(f"--record {args.record}: expected a file in a folder that exists")
    return args


def commit_here():
    """Returns the commit that is built and tested. Call before a run: another commit may be made meanwhile."""
    return (git(ROOT, "rev-parse", "--short", "HEAD") or "unknown").strip()


def record(path, commit, lines, total):
    where = f"{time.strftime('%Y-%m-%d %H:%M')}, commit {commit}, Linux {os.uname().release}, {os.cpu_count()} cores"
    path.write_text("\n".join([where, *lines, *(f"passed only when run again: {test}" for test in total.again),
                               *total.failures, str(total)]) + "\n")


def end(number, _):
    for ending in ENDINGS:  # timeout(1) sends its signal twice
        signal.signal(ending, signal.SIG_IGN)
    sys.exit(f"tests/run: ended by {signal.Signals(number).name}; logs in build/test-logs")


def main(argv):
    for ending in ENDINGS:
        signal.signal(ending, end)
    args = arguments(argv)
    if args.list:
        for suite in SUITES:
            when = "   (only when named: make soak)" if suite.on_request else ""
            print(f"{suite.name:12} {suite.preset:11} {suite.why}{when}")
        return 0
    chosen = [suite for suite in SUITES if suite.name in args.suites or not (args.suites or suite.on_request)]
    logs = ROOT / "build" / "test-logs"
    logs.mkdir(parents=True, exist_ok=True)
    total, built, began, lines, commit = Count(), {}, time.monotonic(), [], commit_here()
    presets = list(dict.fromkeys(suite.preset for suite in chosen))
    print(f"{len(chosen)} suites, {len(presets)} builds ({', '.join(presets)})", flush=True)
    try:
        run_all(chosen, presets, logs, total, lines, built)
    except SystemExit as ended:
        ran = sum(not line.startswith(" ") for line in lines)  # a suite's notes are indented
        if args.record:
            record(args.record, commit, [*lines, f"ended early, {ran} of {len(chosen)} suites"], total)
        report(total, f"ended early, {ran} of {len(chosen)}", began)
        raise ended
    for preset in (preset for preset, problem in built.items() if not args.suites and not problem):
        for name in forgotten(preset):
            total.fail(f"{name} of {preset}: no suite of tests/run runs it; give it a label that one does")
    total.judge_again()
    if args.record:
        record(args.record, commit, lines, total)
    report(total, str(len(chosen)), began)
    return 1 if total.failed else 0


def run_all(chosen, presets, logs, total, lines, built):
    """Builds and runs. Adds to `total`, `lines` and `built` as results come."""
    patterns_of = lambda preset: [p for s in chosen if s.preset == preset for p in s.targets]
    names = {suite.name for suite in chosen}
    for suite in chosen:
        if suite.beside in names:
            continue
        along, results = [other for other in chosen if other.beside == suite.name], []
        for preset in dict.fromkeys(one.preset for one in (suite, *along)):
            if preset not in built:
                built[preset] = build_now(preset, presets, patterns_of, logs)
        ahead = (Ahead([p for p in presets if p not in built], patterns_of, logs) if suite.waits
                 else contextlib.nullcontext())
        try:
            with Beside(partial(run_each, along, built, logs, results)), ahead:
                results.append(print_result(run_one(suite, built[suite.preset], logs)))
        finally:
            for count, said in results:
                total.add(count)
                lines += said


def build_now(preset, presets, patterns_of, logs):
    """Builds a preset. Returns the error, or None."""
    start = time.monotonic()
    problem = build(preset, f"{presets.index(preset) + 1} of {len(presets)}", patterns_of(preset), logs)
    print(f"built {preset:16} {time.monotonic() - start:6.0f} s", flush=True)
    return problem


def run_each(suites, built, logs, results, interrupted):
    """Runs the suites one after the other, at idle priority."""
    for suite in suites:
        result = run_one(suite, built[suite.preset], logs, behind=True)
        if interrupted.is_set():
            return
        results.append(print_result(result))


def run_one(suite, problem, logs, behind=False):
    """`problem`: why the suite's build failed, or None. Returns the suite's Count and its lines for the record."""
    start, count = time.monotonic(), Count()
    if problem:
        print(problem)
        count.fail(f"{suite.name}: {problem.splitlines()[0]}")
    elif suite.labels:
        count = run_suite(suite, logs, behind)
    else:
        count.passed += 1
    said = [f"{suite.name:22} {time.monotonic() - start:6.0f} s  {count}   ({suite.why})"]
    said += [f"    {times} skipped: {reason}"
             for reason, times in (skip_reasons(suite).items() if count.skipped else ())]
    said += [textwrap.indent(note.read_text().strip(), "    ") for note in sorted(notes_of(suite, logs).glob("*"))]
    return count, said


def print_result(result):
    print("\n".join(result[1]), flush=True)
    return result


def report(total, suites, began):
    if total.again:
        print("\nfailed once and passed when run again by itself:", *(f"  {test}" for test in total.again), sep="\n")
    if total.failures:
        print("\nfailed (one suite again: tests/run SUITE):", *(f"  {failure}" for failure in total.failures), sep="\n")
    print(f"\n{suites} suites in {time.monotonic() - began:.0f} s; logs in build/test-logs")
    print(total, flush=True)
