"""Numbers of a command line that may not be less than something."""
from __future__ import annotations

import argparse
import math
from typing import Any, Callable


def at_least(least: float, kind: type = int) -> Callable[[str], Any]:
    """For argparse's `type`."""

    def read(text: str) -> Any:
        value = kind(text)
        if not least <= value < math.inf:
            raise argparse.ArgumentTypeError(f"found {text}, expected {least:g} or more")
        return value

    read.__name__ = kind.__name__  # argparse says it of what is no number
    return read
