"""The command line of tools/bench."""
from __future__ import annotations

import argparse
import itertools
import os
import signal
import sys
from pathlib import Path

from . import host, results
from .acceptance import Case, choose, load
from .measure import Outcome, kRoot, measure, pool

_ABOUT = """\
Measures the acceptance figures of perf/acceptance.json (all, or those named: A1, or one case: A1/2x2/host). Ours and
the raw yardstick run in alternation in one lab; medians are compared. Where the host of a virtual machine takes its
cores, runs are repeated and the calmest count. Writes perf/results/ID.json and prints PASS, FAIL or SKIP(reason).
Exit status: 1 if anything failed, 2 for a bad command line. Leave the machine alone meanwhile."""


class Progress:
    """A line that is rewritten on a terminal; elsewhere one line per case."""

    def __init__(self, head: str, total: int) -> None:
        self._head, self._total, self._count, self._tty = head, total, 0, sys.stderr.isatty()

    def step(self, name: str) -> None:
        self._count += 1
        if self._tty:
            print(f"\r\033[K{self._head}  {name}  {self._count}/{self._total}", end="", file=sys.stderr, flush=True)
        elif self._count == 1:
            print(f"{self._head}  (at least {self._total} runs)", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._tty:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _show(outcome: Outcome) -> None:
    name = outcome.case.full_name
    if outcome.verdict == "SKIP":
        print(f"SKIP({outcome.reason})  {name}", flush=True)
        return
    print(f"{outcome.verdict}  {name}  {outcome.case.what}", flush=True)
    for check in outcome.checks:
        mark = "ok " if check["ok"] else "NOT"
        worst = f" at {check['at']} bytes, the worst of {len(check['by_size'])}" if "at" in check else ""
        print(f"      {mark} {check['name']}: {check['value']:.4g}{worst}  "
              f"(bound {check['bound']}; {check['formula']})")
    for side, reason in outcome.left_out.items():
        print(f"      without the side {side}: {reason}")
    medians = {key: value["median"] for key, value in outcome.values.items()}
    if medians:
        print("      medians:",
              "  ".join(f"{key} {value:.5g}" for key, value in medians.items() if not isinstance(value, dict)))
    for key, value in outcome.values.items():
        if "at" in value:
            print(f"      {key}: {value['median']:.4g} at {value['at']}")
    for key, value in medians.items():
        if isinstance(value, dict):
            print(f"      {key}:", "  ".join(f"{size} {figure:.4g}" for size, figure in value.items()))
    if outcome.stolen:
        worst = max(outcome.stolen[side][number] for side, numbers in outcome.counted.items() for number in numbers)
        made, counted = (sum(map(len, runs.values())) for runs in (outcome.stolen, outcome.counted))
        print(f"      the host took at most {worst:.0%} of the cores in any of the {counted} runs that counted, "
              f"of {made}")
    if outcome.reason and not outcome.checks:
        print(f"      {outcome.reason}")
    sys.stdout.flush()


def _measure_one(case: Case, args: argparse.Namespace, before: list[tuple[Outcome, int]]) -> tuple[Outcome, int]:
    """`before`: cases of the same id that are already measured."""
    runs = args.runs or case.runs
    if case.is_pool:
        outcome = pool(case, [outcome for outcome, _ in before])
        _show(outcome)
        return outcome, 0
    progress = Progress(case.full_name, runs * len(case.sides))
    outcome = measure(case, Path(args.build).resolve(), runs, progress.step)
    progress.end()
    _show(outcome)
    return outcome, runs


def _measure_all(cases: list[Case], args: argparse.Namespace, folder: Path | None) -> list[Outcome]:
    """Writes each id's results to `folder` as soon as the id is measured."""
    outcomes: list[Outcome] = []
    for name, group in itertools.groupby(cases, lambda case: case.id):
        where = results.circumstances()
        done: list[tuple[Outcome, int]] = []
        for case in group:
            done.append(_measure_one(case, args, done))
        outcomes += [outcome for outcome, _ in done]
        if folder:
            print(f"      written: {results.write(folder, name, done, where)}", flush=True)
    return outcomes


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/bench", description=_ABOUT,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("id", nargs="*", metavar="ID", help="A1, or A1/2x2/host; also ID=A1 (default: all)")
    add("--runs", type=int, default=0, metavar="N",
        help="number of runs, instead of acceptance.json's; nothing is written then, unless --results names a folder")
    add("--build", default=str(kRoot / "build" / "release"), metavar="DIR", help="build folder (build/release)")
    add("--results", metavar="DIR", help="folder for ID.json (perf/results)")
    add("--list", action="store_true", help="name the cases and their bounds, measure nothing")
    args = parser.parse_args(argv)
    if args.runs < 0:
        parser.error("--runs is at least 1")
    return args


def _list(cases: list[Case]) -> int:
    for case in cases:
        print(f"{case.full_name:28} {case.what}")
        for check in case.checks:
            sizes = f"  ({check.sizes[0]} to {check.sizes[-1]} bytes)" if check.sizes else ""
            print(f"{'':28}   {'yardstick: ' if check.yardstick else ''}{check.formula} {check.bound}{sizes}")
    return 0


def main(argv: list[str]) -> int:
    args = _parse(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        cases = choose(load(), [name.removeprefix("ID=") for name in args.id])
    except LookupError as error:
        print(f"tools/bench: {error.args[0]}", file=sys.stderr)
        return 2
    if args.list:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` is no error
        return _list(cases)
    if not os.access(Path(args.build) / "bin" / "net_perf", os.X_OK):
        print(f"tools/bench: no net_perf in {args.build}/bin; `make programs` first", file=sys.stderr)
        return 2
    folder = Path(args.results) if args.results else None if args.runs else kRoot / "perf" / "results"
    try:
        with host.alone():
            outcomes = _measure_all(cases, args, folder)
    except host.Busy as error:
        print(f"tools/bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    counts = {verdict: sum(outcome.verdict == verdict for outcome in outcomes) for verdict in ("PASS", "FAIL", "SKIP")}
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 1 if counts["FAIL"] else 0
