"""auditwheel's opinion of a wheel's platform."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from recipes import commands
from checks.systems import CheckFailed


def check(wheel: Path) -> str:
    """The platform that auditwheel finds is the wheel's tag or an older one. Of railweave-torch, auditwheel says what
    symbol versions allow beside torch's own libraries. Errors: CheckFailed, CommandFailed."""
    output = " ".join(commands.output_of([sys.executable, "-m", "auditwheel", "show", wheel]).split())
    found = (re.search(r'This constrains the platform tag to "(\w+)"', output)
             or re.search(r'consistent with the following platform tag: "(\w+)"', output))
    tag = wheel.stem.rsplit("-", 1)[1]
    if not found or _minor(found[1]) > _minor(tag):
        raise CheckFailed(f"auditwheel: expected {tag} or older, found:\n{output}")
    return f"fits {found[1]}"


def _minor(tag: str) -> int:
    found = re.fullmatch(r"manylinux_2_(\d+)_\w+", tag)
    return int(found[1]) if found else 1000
