"""Ratios of what was measured in turns."""
from __future__ import annotations

import math
from statistics import mean, median, stdev

# Student's t, two-sided 95 %, by degrees of freedom.
_T95 = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 14: 2.145, 19: 2.093, 29: 2.045}


def paired_ratio(upper: list[float], lower: list[float]) -> dict[str, float | None]:
    """Of each pair upper / lower: the median, and the 95 % interval of the mean (of logarithms; None of a single pair, or where one
    ratio is not above 0). What is the same in all pairs counts as exact. Raises ValueError where a `lower` is not above 0."""
    if min(lower) <= 0:
        raise ValueError(f"pairs: expected what is divided by above 0, found {min(lower):g}")
    ratios = [a / b for a, b in zip(upper, lower, strict=True)]
    if len(ratios) < 2 or min(ratios) <= 0:
        return {"median": median(ratios), "low": None, "high": None}
    logs = [math.log(ratio) for ratio in ratios]
    t95 = _T95[max(freedom for freedom in _T95 if freedom <= len(logs) - 1)]
    half = t95 * stdev(logs) / math.sqrt(len(logs))
    return {"median": median(ratios), "low": math.exp(mean(logs) - half), "high": math.exp(mean(logs) + half)}
