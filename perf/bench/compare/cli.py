"""The command line of tools/compare."""
from __future__ import annotations

import argparse
import importlib.util
import json
import signal
import sys
import tempfile
from pathlib import Path

from bench import results
from bench.cli import Progress
from bench.programs import missing
from bench.sizes import parse_size
from lab.steps import NoNamespaces, in_lab

from .figures import Figures, collect
from .sweep import Sweep, argv_names, kOperations, kSides, steps

_ROOT = Path(__file__).resolve().parents[3]
_ABOUT = """\
Times the same operations at the same sizes through Railweave, Gloo (torch) and Open MPI, in alternation: in a lab of
several hosts with several NICs, and on this machine over loopback. Shows a table per operation and writes compare.json
and curves (PNG). Needs `make programs` and `tools/setup packages torch`; a side that is not there is left out, but not
ours, and not where only one would be left of several."""


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/compare", description=_ABOUT,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--where", choices=["lab", "loopback", "both"], default="both", help="where to measure (both)")
    add("--hosts", type=int, default=2, help="number of ranks, in the lab each on a host of its own (2)")
    add("--nics", default="2", help="NICs of a host of the lab (2)")
    add("--rate", default="2gbit", help="rate of each NIC; `none`: unshaped (2gbit)")
    add("--operations", default=",".join(kOperations), metavar="O[,O...]",
        help=f"operations to time ({','.join(kOperations)})")
    add("--sides", default=",".join(kSides), metavar="S[,S...]", help=f"sides to compare ({','.join(kSides)})")
    add("-b", "--minbytes", default="8", help="smallest size; each next one is twice as large (8)")
    add("-e", "--maxbytes", default="256M", help="largest size (256M)")
    add("--runs", type=int, default=3, help="number of runs of each side; the table shows medians (3)")
    add("--out", default=str(_ROOT / "build" / "compare"), metavar="DIR",
        help="where compare.json and the curves go (build/compare)")
    add("--build", default=str(_ROOT / "build" / "release"), metavar="DIR", help="build folder (build/release)")
    return parser.parse_args(argv)


def _listed(text: str, known: tuple[str, ...], option: str) -> tuple[str, ...]:
    words = tuple(word for word in text.split(",") if word)
    if not words or any(word not in known for word in words):
        raise ValueError(f"{option} '{text}': expected some of {', '.join(known)}")
    return words


def _sweep(args: argparse.Namespace, programs: Path) -> Sweep:
    """Returns the checked sweep. Raises ValueError."""
    sides = list(_listed(args.sides, tuple(kSides), "--sides"))
    operations = _listed(args.operations, kOperations, "--operations")
    least, greatest = parse_size(args.minbytes), parse_size(args.maxbytes)
    if not 1 <= least <= greatest or args.runs < 1 or args.hosts < 2:
        raise ValueError("expected 1 <= --minbytes <= --maxbytes, --runs of at least 1, --hosts of at least 2")
    asked = len(sides)
    for side in list(sides):
        needed = argv_names(Sweep(operations, (side,), least, greatest, args.runs))
        if reasons := [reason for name in needed if (reason := missing(name, programs))]:
            if side == "ours":
                raise ValueError(f"{reasons[0]} in {programs}; `make programs` first (--sides compares others alone)")
            print(f"tools/compare: without {kSides[side]}: {reasons[0]}", file=sys.stderr)
            sides.remove(side)
    if len(sides) < min(2, asked):
        raise ValueError(f"nothing to compare: of {asked} sides {len(sides)} is there (--sides measures one alone)")
    return Sweep(operations, tuple(sides), least, greatest, args.runs)


def _lab_options(args: argparse.Namespace, where: str) -> list[str]:
    if where == "loopback":
        return ["--loopback", "--hosts", str(args.hosts)]
    shaping = [] if args.rate == "none" else ["--rate", args.rate]
    return ["--hosts", str(args.hosts), "--nics", args.nics, *shaping]


def _measure(sweep: Sweep, where: str, options: list[str], programs: Path) -> Figures:
    """Measures in one lab. Raises RuntimeError if a program failed, NoNamespaces if the lab would have used this
    machine's loopback."""
    with tempfile.TemporaryDirectory(prefix="railweave-compare-") as name:
        folder = Path(name)
        todo = steps(sweep, programs)
        plan = folder / "steps.json"
        plan.write_text(json.dumps({"steps": todo}))
        progress = Progress(where, len(todo))
        try:
            status, said = in_lab(options, plan, progress.step)
        finally:
            progress.end()
        if status:
            logs = "".join(f"--- {log.name}\n{log.read_text(errors='replace')[-1500:]}"
                           for log in sorted(folder.glob("*.log"))
                           if log.stat().st_size and not (folder / f"{log.name.split('.')[0]}.json").exists())
            raise RuntimeError(f"exit status {status}\n{said[-2000:]}{logs}")
        return collect(folder)


def _show(args: argparse.Namespace, where: str, options: list[str], figures: Figures) -> None:
    from . import table
    from .curves import draw  # matplotlib takes a while to load

    for operation, sides in figures.items():
        title = f"{operation}, float32, {args.hosts} ranks, {where} ({' '.join(options)})"
        table.show(title, sides)
        print(f"written: {draw(Path(args.out) / f'{where}-{operation}.png', title, sides)}", flush=True)


def _run(args: argparse.Namespace, sweep: Sweep, programs: Path, document: dict) -> int:
    for where in ("lab", "loopback") if args.where == "both" else (args.where,):
        options = _lab_options(args, where)
        try:
            figures = _measure(sweep, where, options, programs)
        except NoNamespaces as reason:
            print(f"tools/compare: no lab: {str(reason).partition(': all ranks')[0]}", file=sys.stderr)
            if args.where == "lab":
                return 1
            continue
        except (RuntimeError, ValueError, KeyError) as error:
            print(f"tools/compare: {where}: {error}", file=sys.stderr)
            return 1
        document["places"][where] = {"lab": options, "figures": figures}
        _show(args, where, options, figures)
    return 0


def main(argv: list[str]) -> int:
    """Returns the exit status: 1 if a program failed, 2 for an invalid command line."""
    args = _parse(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if missed := [name for name in ("matplotlib", "rich") if importlib.util.find_spec(name) is None]:
        print(f"tools/compare: no {', '.join(missed)}; `make setup` installs it into .venv", file=sys.stderr)
        return 1
    programs = Path(args.build).resolve() / "bin"
    try:
        sweep = _sweep(args, programs)
    except ValueError as error:
        print(f"tools/compare: {error}", file=sys.stderr)
        return 2
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    document = {**results.circumstances(), "command": argv, "places": {}}
    try:
        if status := _run(args, sweep, programs, document):
            return status
    except KeyboardInterrupt:
        return 130
    (out / "compare.json").write_text(json.dumps(document, indent=1) + "\n")
    print(f"written: {out / 'compare.json'}")
    return 0
