"""The command line of tools/demo_net."""
from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path

from . import source_file, transfer
from .source_file import size_text

_ROOT = Path(__file__).resolve().parents[3]
_ABOUT = """\
Makes two hosts with two NICs each, loads libnccl-net-railweave.so in one process per host, moves a file over ONE
connection, checks its SHA-256 at the other side and shows where the bytes went; beside it the same over one rail.
Without the privilege for network namespaces everything runs over loopback instead. Leaves demo_net.png and
demo_net.json in build/demo_net."""
_SAYS = {"raw": "raw TCP on each rail alone", "striped": "the file over all rails", "single": "the same over one rail"}


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/demo_net", description=_ABOUT,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--file", help="the file to move (default: the machine's compilers, packed once into build/demo_net/cache)")
    add("--nics", type=int, default=2, help="rails per host (2)")
    add("--rate", default="2gbit", help="rate of the rails, as in tools/lab: 2gbit or 2gbit,1gbit (2gbit)")
    add("--shape", choices=["host", "switch"], default="host", help="where the rate is limited (host)")
    add("--loopback", action="store_true", help="no namespaces: both processes on this machine's lo, unshaped")
    add("--sleep-us", type=int, default=50,
        help="callers sleep this long when nothing moved; 0: they spin, as NCCL does (50)")
    add("--build", default=str(_ROOT / "build" / "release"), metavar="DIR", help="build folder (build/release)")
    add("--out", default=str(_ROOT / "build" / "demo_net"), metavar="DIR", help="where the results go (build/demo_net)")
    return parser.parse_args(argv)


def _say(line: str) -> None:
    print(f"demo-net: {line}", flush=True)


def _title(outcome: transfer.Outcome, setup: transfer.Setup, file: Path) -> str:
    rate = setup.rate.replace("gbit", " Gb/s").replace("mbit", " Mb/s").replace(",", " + ")
    where = "loopback" if outcome.loopback else \
        f"two hosts, {setup.nics} rails each, {rate}, shaped at the {setup.shape}"
    return f"{file.name}, {size_text(file.stat().st_size)} over ONE connection; {where}"


def _report(outcome: transfer.Outcome, setup: transfer.Setup, file: Path, out: Path) -> None:
    from rich.console import Console

    from bench.plots.transfer import save

    from .table import show

    title = _title(outcome, setup, file)
    console = Console(width=None if sys.stdout.isatty() else 100)
    console.print()
    show(outcome, title, console)
    out.mkdir(parents=True, exist_ok=True)
    earlier = " (in place of an earlier run's)" if (out / "demo_net.json").exists() else ""
    (out / "demo_net.json").write_text(json.dumps(asdict(outcome), indent=1) + "\n")
    save(outcome, title, out / "demo_net.png")
    console.print(f"{outcome.device}; SHA-256 {outcome.striped.sha256}", soft_wrap=True)
    console.print(f"written{earlier}: demo_net.png and demo_net.json in {out}", soft_wrap=True, highlight=False)


def main(argv: list[str]) -> int:
    """Returns the exit status: 1 if a step failed or the checksum differs, 2 for an invalid command line."""
    args = _parse(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        import matplotlib  # noqa: F401
        import rich  # noqa: F401
    except ImportError as missing:
        print(f"demo-net: {missing}; `make setup` installs it into .venv", file=sys.stderr)
        return 1
    setup = transfer.Setup(args.nics, args.rate, args.shape, args.loopback, Path(args.build).resolve(), args.sleep_us)
    if not os.access(setup.build / "bin" / "net_perf", os.X_OK):
        print(f"demo-net: no net_perf in {setup.build}/bin; `make build` first", file=sys.stderr)
        return 1
    out = Path(args.out).resolve()
    try:
        file = source_file.choose(args.file, out / "cache", _say)
        _say(f"{file} ({size_text(file.stat().st_size)})")
        outcome = transfer.run(setup, file, lambda step: _say(f"{_SAYS[step]} ..."), _say)
    except (source_file.NoFile, transfer.DemoError, OSError) as error:
        print(f"demo-net: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    _report(outcome, setup, file, out)
    transfers = [outcome.striped] + ([outcome.single] if outcome.single else [])
    if not all(one.match for one in transfers):
        print("demo-net: the checksum at the other side DIFFERS", file=sys.stderr)
        return 1
    return 0
