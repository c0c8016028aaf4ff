"""Collects the programs' results as medians by operation, side and size."""
from __future__ import annotations

import json
import statistics
from collections import defaultdict
from pathlib import Path

# operation -> side -> size in bytes -> {"time_us", "busbw_gb_per_s"} with "samples_us"
Figures = dict[str, dict[str, dict[int, dict]]]


def _samples(folder: Path) -> dict[tuple[str, str, int], list[dict]]:
    found: dict[tuple[str, str, int], list[dict]] = defaultdict(list)
    for path in sorted(folder.glob("*-*-*-*.json")):
        operation, side, _, _ = path.stem.split("-")
        for entry in json.loads(path.read_text())["results"]:
            if entry["size"] > 0:
                found[operation, side, entry["size"]].append(entry["out_of_place"])
    return found


def collect(folder: Path) -> Figures:
    """Reads the JSON that the steps left in `folder`. Raises ValueError, KeyError, OSError."""
    figures: Figures = {}
    for (operation, side, size), samples in sorted(_samples(folder).items()):
        times = [sample["time"] for sample in samples]
        figures.setdefault(operation, {}).setdefault(side, {})[size] = {
            "time_us": statistics.median(times),
            "busbw_gb_per_s": statistics.median(sample["bus_bw"] for sample in samples),
            "samples_us": times,
        }
    return figures
