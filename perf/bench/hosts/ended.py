"""Extracts the useful part from the output of a failed program."""
from __future__ import annotations

kTailChars = 2000


def tail(said: str) -> str:
    """Returns the end of the output, preceded by the first WARN lines that the end lacks."""
    end = said[-kTailChars:]
    warned = "\n".join(line for line in said[:-kTailChars].splitlines() if "WARN" in line)[:kTailChars]
    return f"{warned}\n...\n{end}" if warned else end
