"""Parses sizes on command lines and in perf/acceptance.json."""
from __future__ import annotations

_SHIFTS = {"K": 10, "M": 20, "G": 30}


def parse_size(text: str) -> int:
    """Returns the bytes of "8", "64K", "256M" or "1G". Raises ValueError."""
    shift = _SHIFTS.get(text[-1:].upper(), 0)
    digits = text[:-1] if shift else text
    if not digits.isdecimal():
        raise ValueError(f"'{text}' is not a size; expected digits and an optional K, M or G")
    return int(digits) << shift
