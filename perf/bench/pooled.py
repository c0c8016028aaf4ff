"""Figures of several cases together. A case of acceptance.json with `pool` measures nothing: its values come from the
other cases of its id, measured just before. Pure.

A value is {"path": into the first run of "side", "take": "median" | "p99" | "max" | "min" | "sum"}. It covers every
case whose row has the contents of "where", such as {"visible": true}."""
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
    """Returns the figures by the row's name. `runs`: for each case its row, and side to the JSON of its runs. Raises
    NoValue if no case has the figure."""
    found = {row["name"]: at_path(raw[spec["side"]][0], spec["path"]) for row, raw in runs
             if _fits(row, spec.get("where", {})) and raw.get(spec["side"])}
    if not found:
        raise NoValue(f"no case has '{spec['path']}': run them all")
    return found


def value(spec: dict, runs: list[tuple[dict, dict[str, list]]]) -> dict:
    """Returns a value as in Outcome, with the row of the figure under "at" if one row has it. Raises NoValue."""
    found = samples(spec, runs)
    taken = kTakes[spec["take"]](list(found.values()))
    at = next((name for name, figure in found.items() if figure == taken), None) if spec["take"] != "sum" else None
    return {"median": taken, "samples": list(found.values()), **({"at": at} if at else {})}


def _fits(row: dict, where: dict) -> bool:
    return all(row.get(name) == wanted for name, wanted in where.items())
