"""Parts of the command lines of programs that make steps in a lab."""
from __future__ import annotations

import argparse
import os
from pathlib import Path

from lab.inside import parse_in_lab

RANKS = 2
_PROGRAMS = Path(__file__).resolve().parents[3] / "build" / "release" / "bin"


def command_line(prog: str, about: str, *, programs: bool) -> argparse.ArgumentParser:
    """Makes a parser with --json, and with --programs if the program runs others."""
    parser = argparse.ArgumentParser(prog=prog, description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    if programs:
        parser.add_argument("--programs", type=Path, default=_PROGRAMS,
                            help="folder of raw_tcp and fsdp_replay (build/release/bin)")
    parser.add_argument("--json", metavar="FILE", help="write the results to this file")
    return parser


def parse_step(parser: argparse.ArgumentParser, *, rails: int | None = None) -> argparse.Namespace:
    """Parses the arguments. Exits with status 2 unless this is one of two ranks in a lab, of `rails` rails if given."""
    args = parse_in_lab(parser)
    for name, found, expected in (("ranks", int(os.environ["WORLD_SIZE"]), RANKS),
                                  ("rails", len(os.environ["RWLAB_NICS"].split(",")), rails)):
        if expected is not None and found != expected:
            parser.error(f"found {found} {name}, expected {expected}")
    return args
