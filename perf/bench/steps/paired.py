"""Ratios of what was measured in turns."""
from __future__ import annotations

import math
from statistics import mean, median, stdev

# Student's t, two-sided 95 %, by degrees of freedom.
_T95 = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776}
_LEAST = 6  # pairs of which the median has an interval
_FAR = 1.25  # what a ratio is at least, or its inverse, that strays


def paired_ratio(upper: list[float], lower: list[float]) -> dict[str, float | None]:
    """Of each pair upper / lower: the median and its 95 % interval.

    From six pairs on its ends are themselves ratios of pairs (the sign test's interval: David, Nagaraja: Order
    Statistics, 7.1), whatever their distribution: decision 0020. Fewer have no such interval: theirs is the mean's, of
    logarithms; None of a single pair, or where one ratio is not above 0. What is the same in all pairs counts as exact.
    A pair whose `lower` is not above 0 has no ratio: of six and more it counts as beyond either end. Raises ValueError
    where fewer have one, or most.
    """
    ratios, without = ratios_of(upper, lower)
    if 2 * without >= len(lower) or (without and len(lower) < _LEAST):
        raise ValueError(f"pairs: expected what is divided by above 0, found {min(lower):g}")
    low, high = _of_median(ratios, without) or _of_mean(ratios) or (None, None)
    return {"median": median(ratios), "low": low, "high": high}


def ratios_of(upper: list[float], lower: list[float]) -> tuple[list[float], int]:
    """Of the pairs whose `lower` is above 0, in order; and how many others there are."""
    ratios = [a / b for a, b in zip(upper, lower, strict=True) if b > 0]
    return ratios, len(lower) - len(ratios)


def strays(ratios: list[float], without: int = 0) -> dict[str, float]:
    """What the median does not see: whether some of the pairs, less than half, are far off to one side. Of those that
    differ by a quarter and more, "down" is the chance that so many lie below 1, or more, if they lay on either side as
    likely (the sign test); "up", above. Of pairs `without` a ratio each counts for whichever is asked.
    """
    below, above = sum(ratio * _FAR <= 1 for ratio in ratios), sum(ratio >= _FAR for ratio in ratios)
    far = below + above + without
    return {"down": _at_least(below + without, far), "up": _at_least(above + without, far)}


def _at_least(heads: int, tosses: int) -> float:
    return sum(math.comb(tosses, n) for n in range(heads, tosses + 1)) / 2**tosses


def _of_median(ratios: list[float], without: int) -> tuple[float, float] | None:
    """The `rank`th from either end, so chosen that the true median lies beyond it there with a chance
    of at most 2.5 %."""
    ascending, count, rank, chance = sorted(ratios), len(ratios) + without, 0, 0.0
    while (chance := chance + math.comb(count, rank) / 2**count) <= 0.025:
        rank += 1
    inside = rank - without
    return (ascending[inside - 1], ascending[-inside]) if inside > 0 else None


def _of_mean(ratios: list[float]) -> tuple[float, float] | None:
    if len(ratios) < 2 or min(ratios) <= 0:
        return None
    logs = [math.log(ratio) for ratio in ratios]
    half = _T95[len(logs) - 1] * stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean(logs) - half), math.exp(mean(logs) + half)
