"""Selects few rows so that every wanted pair of values of two columns occurs. Pure: one input always gives the same
rows."""
from __future__ import annotations

import random
from typing import Callable, Hashable, Iterable, Sequence, TypeVar

Row = TypeVar("Row")
Pair = Hashable


def cover(rows: Iterable[Row], pairs: Callable[[Row], Iterable[Pair]], first: Iterable[Row] = (),
          seed: int = 1) -> list[Row]:
    """Returns `first`, then rows chosen greedily: each has the most pairs that no chosen row has, and chance decides
    between equal ones. Every pair of any row is in a chosen row."""
    found = [(row, frozenset(pairs(row))) for row in rows]
    random.Random(seed).shuffle(found)
    chosen = list(first)
    missing = frozenset().union(*(of_row for _, of_row in found)).difference(*(frozenset(pairs(row)) for row in chosen))
    while missing:
        row, gained = max(found, key=lambda entry: len(entry[1] & missing))
        chosen.append(row)
        missing -= gained
    return chosen


def pairs_of(values: Sequence[tuple[str, Hashable]]) -> list[Pair]:
    """Returns every pair of named values: (("arp", "strict"), ("ipv6", "off"))."""
    return [(first, second) for number, first in enumerate(values) for second in values[number + 1:]]
