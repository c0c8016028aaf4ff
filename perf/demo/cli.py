"""The command line of tools/demo."""
from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from . import training
from .outcome import RANKS, TITLES, Outcome

_ROOT = Path(__file__).resolve().parents[2]
_ABOUT = """\
Trains a small GPT (25 million parameters, on the sources of Python's standard library) with FSDP2 on two hosts with two
NICs each: over Gloo, over railweave, and over railweave with its collectives beside compute. Shows how long a step
takes and how long of it compute waits. Without the privilege for network namespaces everything runs over loopback
instead, where the network is no limit. Leaves demo.png and demo.json in build/demo."""
_FULL, _QUICK = (16, 4), (5, 2)  # steps, sequences
_RATIOS = (0.05, 10.0)


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/demo", description=_ABOUT,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer and smaller steps: two minutes instead of eight")
    add("--ratio", type=float, default=1.0,
        help="a step's communication on the rails, in steps of compute alone: sets their rate (1)")
    add("--loopback", action="store_true", help="no namespaces: both ranks on this machine's lo, unshaped")
    add("--package", default=str(_ROOT / "build" / "torch" / "python"), metavar="DIR",
        help="the folder with the Python package (build/torch/python)")
    add("--out", default=str(_ROOT / "build" / "demo"), metavar="DIR", help="where the results go (build/demo)")
    return parser.parse_args(argv)


class _Bars:
    """A progress bar for each training: step, loss, tokens per second."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._console, self._tasks = console, {}
        self.progress = Progress(TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(),
                                 TextColumn("{task.fields[figures]}"), console=console)

    def show(self, line: dict[str, Any]) -> None:
        name, step = line["variant"], line["step"]
        if name not in self._tasks:
            self._tasks[name] = self.progress.add_task(TITLES[name], total=line["of"], figures="")
        loss = "" if line["loss"] is None else f"loss {line['loss']:.3f}  "
        figures = f"{loss}{line['tokens_per_s']:.0f} tokens/s"
        self.progress.update(self._tasks[name], completed=step, figures=figures)
        if not self._console.is_terminal:
            self._console.print(f"{TITLES[name]}: step {step} of {line['of']}, {figures}, {line['seconds']:.2f} s",
                                soft_wrap=True, highlight=False)


def _title(outcome: Outcome) -> str:
    count = outcome.trainings["alone"].parameters / 1e6
    where = "loopback, unshaped" if outcome.loopback else \
        f"two hosts, {training.NICS} NICs each, slowed to {outcome.rate_mbit} Mb/s: " \
        f"a step's collectives alone take {outcome.ratio:.2g} x the time of compute"
    return f"A GPT of {count:.1f} million parameters, float32, FSDP2 on {RANKS} ranks; {where}"


def _prepare(out: Path) -> None:
    """Makes the folder before the minutes of work. Raises DemoError if nothing can be written there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as error:
        raise training.DemoError(f"--out: cannot write to {out}: {error.strerror}") from None


def _report(outcome: Outcome, plan: training.Plan, out: Path, console: Any) -> None:
    import torch
    from bench.results import settings
    from bench.plots.training import save

    from .table import show

    title = _title(outcome)
    console.print()
    show(outcome, title, console)
    document = {"torch": torch.__version__, "environment": settings(), "rate_mbit": outcome.rate_mbit,
                "loopback": outcome.loopback, "ratio": plan.ratio, "sequences": plan.sequences,
                "trainings": {name: one.plain() for name, one in outcome.trainings.items()}}
    (out / "demo.json").write_text(json.dumps(document, indent=1) + "\n")
    save(outcome, title, out / "demo.png")
    console.print(f"picture: {out / 'demo.png'}", soft_wrap=True)


def main(argv: list[str]) -> int:
    """Returns the exit status: 1 if a training failed or the losses differ, 2 for an invalid command line."""
    args = _parse(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        import matplotlib  # noqa: F401
        import torch  # noqa: F401
        from rich.console import Console
    except ImportError as missing:
        print(f"demo: {missing}; `make setup` installs it into .venv", file=sys.stderr)
        return 1
    package = Path(args.package).resolve()
    if not list(package.glob("railweave/_C.*.so")):
        print(f"demo: no railweave package in {package}; `make demo` builds it", file=sys.stderr)
        return 1
    if not _RATIOS[0] <= args.ratio <= _RATIOS[1]:
        print(f"demo: --ratio: expected {_RATIOS[0]:g} to {_RATIOS[1]:g}, found {args.ratio:g}", file=sys.stderr)
        return 2
    steps, sequences = _QUICK if args.quick else _FULL
    plan = training.Plan(steps, sequences, args.ratio, package, args.loopback)
    console = Console(width=None if sys.stdout.isatty() else 110)
    bars = _Bars(console)
    out = Path(args.out).resolve()
    try:
        _prepare(out)
        console.print(f"{len(TITLES)} trainings: {'; '.join(TITLES.values())}. {'Two' if args.quick else 'Eight'} "
                      "minutes on two cores that do nothing else", soft_wrap=True, highlight=False)
        with bars.progress:
            outcome = training.run(plan, bars.show, lambda reason: console.print(f"demo: {reason}", soft_wrap=True))
    except (training.DemoError, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    try:
        _report(outcome, plan, out, console)
    except OSError as error:
        print(f"demo: --out: cannot write to {out}: {error.strerror}", file=sys.stderr)
        return 1
    if wrong := outcome.disagreement:
        print(f"demo: {wrong}", file=sys.stderr)
        return 1
    return 0
