"""Figures of several cases together. A case of acceptance.json with `pool` measures nothing: it takes the runs of the
other cases of its id that were measured just before. Pure.

A value is {"path": into the first run of "side", "take": "median" | "p99" | "max" | "min" | "sum"}, of every case whose
row has what "where" says: {"told": true}.
"""
from __future__ import annotations

import math
from statistics import median
from typing import Callable

from .values import NoValue, at_path

kTakes: dict[str, Callable[[list[float]], float]] = {
    "median": median, "max": max, "min": min, "sum": sum,
    "p99": lambda found: sorted(found)[math.ceil(0.99 * len(found)) - 1],
}


def samples(spec: dict, runs: list[tuple[dict, dict[str, list]]]) -> dict[str, float]:
    """By the row's name. `runs`: of each case its row, and side to the JSON of its runs.
    Raises NoValue where no case has the figure."""
    found = {row["name"]: at_path(raw[spec["side"]][0], spec["path"]) for row, raw in runs
             if _fits(row, spec.get("where", {})) and raw.get(spec["side"])}
    if not found:
        raise NoValue(f"no case has '{spec['path']}': run them all")
    return found


def value(spec: dict, runs: list[tuple[dict, dict[str, list]]]) -> dict:
    """As an Outcome has it, and under "at" the row that has the figure, where one has. Raises NoValue."""
    found = samples(spec, runs)
    taken = kTakes[spec["take"]](list(found.values()))
    at = next((name for name, figure in found.items() if figure == taken), None) if spec["take"] != "sum" else None
    return {"median": taken, "samples": list(found.values()), **({"at": at} if at else {})}


def _fits(row: dict, where: dict) -> bool:
    return all(row.get(name) == wanted for name, wanted in where.items())
