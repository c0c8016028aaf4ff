"""Ratios of paired measurements."""
from __future__ import annotations

import math
from statistics import mean, median, stdev

# Student's t, two-sided 95 %, by degrees of freedom.
_T95 = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776}
_LEAST = 6  # fewest pairs whose median has an interval
_FAR = 1.25  # least ratio, or its inverse, that strays


def paired_ratio(upper: list[float], lower: list[float]) -> dict[str, float | None]:
    """Returns the median of upper / lower over all pairs, and its 95 % interval.

    From six pairs on, the ends are themselves ratios of pairs (the sign test's interval: David, Nagaraja: Order
    Statistics, 7.1), for any distribution: decision 0020. Fewer pairs get the interval of the logarithms' mean; None
    for a single pair or if one ratio is not above 0. A value that is the same in all pairs counts as exact. A pair
    whose `lower` is not above 0 has no ratio: with six and more pairs it counts as beyond either end. Raises ValueError
    if fewer pairs include one, or if half of the pairs have no ratio."""
    ratios, without = ratios_of(upper, lower)
    if 2 * without >= len(lower) or (without and len(lower) < _LEAST):
        raise ValueError(f"pairs: expected what is divided by above 0, found {min(lower):g}")
    low, high = _of_median(ratios, without) or _of_mean(ratios) or (None, None)
    return {"median": median(ratios), "low": low, "high": high}


def ratios_of(upper: list[float], lower: list[float]) -> tuple[list[float], int]:
    """Returns the ratios of the pairs whose `lower` is above 0, in order, and the number of other pairs."""
    ratios = [a / b for a, b in zip(upper, lower, strict=True) if b > 0]
    return ratios, len(lower) - len(ratios)


def strays(ratios: list[float], without: int = 0) -> dict[str, float]:
    """Tests what the median hides: whether some pairs, fewer than half, are far off to one side. Counts pairs that
    differ by a quarter or more. "down" is the probability of at least as many below 1 if both sides were equally likely
    (the sign test); "up" is the same above. Each of the `without` pairs without a ratio counts for either side."""
    below, above = sum(ratio * _FAR <= 1 for ratio in ratios), sum(ratio >= _FAR for ratio in ratios)
    far = below + above + without
    return {"down": _at_least(below + without, far), "up": _at_least(above + without, far)}


def _at_least(heads: int, tosses: int) -> float:
    return sum(math.comb(tosses, n) for n in range(heads, tosses + 1)) / 2**tosses


def _of_median(ratios: list[float], without: int) -> tuple[float, float] | None:
    """Returns the `rank`th ratio from either end. The true median lies beyond each with a probability of at most 2.5
    %."""
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
