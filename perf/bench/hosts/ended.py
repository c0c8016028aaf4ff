"""What programs that ended with an error said."""
from __future__ import annotations

kTailChars = 2000


def tail(said: str) -> str:
    """The end, and before it the lines at WARN that the end lacks, the first of them."""
    end = said[-kTailChars:]
    warned = "\n".join(line for line in said[:-kTailChars].splitlines() if "WARN" in line)[:kTailChars]
    return f"{warned}\n...\n{end}" if warned else end
