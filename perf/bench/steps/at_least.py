"""Lower bounds for numbers on a command line."""
from __future__ import annotations

import argparse
import math
from typing import Any, Callable


def at_least(least: float, kind: type = int) -> Callable[[str], Any]:
    """Returns a function for argparse's `type`."""

    def read(text: str) -> Any:
        value = kind(text)
        if not least <= value < math.inf:
            raise argparse.ArgumentTypeError(f"found {text}, expected {least:g} or more")
        return value

    read.__name__ = kind.__name__  # argparse's word in messages about text that is no number
    return read
