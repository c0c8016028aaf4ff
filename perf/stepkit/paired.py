"""Ratios of what was measured in turns."""
from __future__ import annotations

import math
from statistics import mean, median, stdev

# Student's t, two-sided 95 %, by degrees of freedom.
_T95 = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776}
_FAR = 1.25  # what a ratio is at least, or its inverse, that strays


def paired_ratio(upper: list[float], lower: list[float]) -> dict[str, float | None]:
    """Of each pair upper / lower: the median and its 95 % interval.

    From six pairs on its ends are themselves ratios of pairs (the sign test's interval: David, Nagaraja: Order Statistics, 7.1), whatever
    their distribution: decision 0020. Fewer have no such interval: theirs is the mean's, of logarithms; None of a single pair, or where
    one ratio is not above 0. What is the same in all pairs counts as exact. Raises ValueError where a `lower` is not above 0.
    """
    if min(lower) <= 0:
        raise ValueError(f"pairs: expected what is divided by above 0, found {min(lower):g}")
    ratios = sorted(a / b for a, b in zip(upper, lower, strict=True))
    low, high = _of_median(ratios) or _of_mean(ratios) or (None, None)
    return {"median": median(ratios), "low": low, "high": high}


def strays(ratios: list[float]) -> dict[str, float]:
    """What the median does not see: whether some of the pairs, less than half, are far off to one side. Of those that differ by a
    quarter and more, "down" is the chance that so many lie below 1, or more, if they lay on either side as likely (the sign test); "up", above.
    """
    below, above = sum(ratio * _FAR <= 1 for ratio in ratios), sum(ratio >= _FAR for ratio in ratios)
    return {"down": _at_least(below, below + above), "up": _at_least(above, below + above)}


def _at_least(heads: int, tosses: int) -> float:
    return sum(math.comb(tosses, n) for n in range(heads, tosses + 1)) / 2**tosses


def _of_median(ratios: list[float]) -> tuple[float, float] | None:
    """`ratios` ascend. The `rank`th from either end, so chosen that the true median lies beyond it there with a chance of at most 2.5 %."""
    count, rank, chance = len(ratios), 0, 0.0
    while (chance := chance + math.comb(count, rank) / 2**count) <= 0.025:
        rank += 1
    return (ratios[rank - 1], ratios[count - rank]) if rank else None


def _of_mean(ratios: list[float]) -> tuple[float, float] | None:
    if len(ratios) < 2 or min(ratios) <= 0:
        return None
    logs = [math.log(ratio) for ratio in ratios]
    half = _T95[len(logs) - 1] * stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean(logs) - half), math.exp(mean(logs) + half)
