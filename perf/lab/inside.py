"""The common beginning and end of programs that measure in a lab, one process per rank."""
from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

_OF_A_RANK = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_OF_THE_LAB = ("RWLAB", "RWLAB_PROGRAM", "RWLAB_NICS", "RWLAB_ADDRESSES")


def parse_in_lab(parser: argparse.ArgumentParser, by: str = "tools/lab run") -> argparse.Namespace:
    """Parses the program's arguments. Exits with status 2, naming `by` as the command to use, if a variable of the lab
    is missing."""
    return _parse(parser, (*_OF_A_RANK, *_OF_THE_LAB), by)


def parse_as_rank(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parses the arguments of a program that needs a rank but no lab; torchrun may start it."""
    return _parse(parser, _OF_A_RANK, "tools/lab run or torchrun")


def _parse(parser: argparse.ArgumentParser, names: tuple[str, ...], by: str) -> argparse.Namespace:
    args = parser.parse_args()
    if missing := [name for name in names if name not in os.environ]:
        parser.error(f"{', '.join(missing)} not set: run it by {by}")
    return args


def write_result(document: dict[str, Any], file: str | None) -> None:
    """Prints the document's "summary" in one line and writes the whole document to the file of --json. Raises
    OSError."""
    print(json.dumps(document["summary"]))
    if file:
        Path(file).write_text(json.dumps(document, indent=1) + "\n")
