"""Every row of N2: how soon the rails that were left carried all that raw TCP carries there, by fault.

    .venv/bin/python perf/bench/plots/real_hosts.py perf/results/N2.json docs/pictures/real_hosts.png
"""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.rows import load  # noqa: E402
from bench.faults.losses import kLosses  # noqa: E402
from bench.plots.of_results import BOUND, draw, finish  # noqa: E402

_VISIBLE, _SILENT, _INK = "#2f6fb0", "#c98a1b", "#222222"
_NEVER_S = 10.0  # rail_loss_perf's figure for a row without recovery before the end of the fault
_LEAST_S = 0.005  # least time in the picture; bins are 50 ms
_MEDIAN_BOUND_S = {True: 0.15, False: 0.6}
_P99_BOUND_S = 1.5


def _seconds(document: dict[str, Any]) -> dict[str, list[float]]:
    """Returns the times by fault, of rows that ran and whose times count."""
    rows = {row["name"]: row for row in load()["faults"]}
    found: dict[str, list[float]] = {}
    for case in document["cases"]:
        row, runs = rows.get(case["case"]), case["sides"].get("ours", {}).get("runs", [])
        if row and runs and not row["excuse"]:
            found.setdefault(row["fault"], []).append(max(runs[0]["summary"]["median_s"], _LEAST_S))
    return found


def _draw(axes: Axes, y: int, fault: str, seconds: list[float]) -> None:
    is_visible = kLosses[fault].is_visible
    spread = [y + 0.22 * (2 * number / max(len(seconds) - 1, 1) - 1) for number in range(len(seconds))]
    color = _VISIBLE if is_visible else _SILENT
    axes.plot(seconds, spread, "o", color=color, markersize=4.5, alpha=0.8, markeredgewidth=0)
    axes.plot([_MEDIAN_BOUND_S[is_visible]] * 2, [y - 0.36, y + 0.36], color=BOUND, linewidth=1.2,
              linestyle=(0, (4, 2)))


def save(document: dict[str, Any], path: Path) -> None:
    """Writes a PNG of perf/results/N2.json. Raises KeyError for the JSON of another id, OSError."""
    found = _seconds(document)
    faults = sorted(found, key=lambda fault: (not kLosses[fault].is_visible, fault), reverse=True)
    figure, axes = plt.subplots(figsize=(9.5, 5.2), layout="constrained")
    for y, fault in enumerate(faults):
        _draw(axes, y, fault, found[fault])
    axes.set_yticks(range(len(faults)), [kLosses[fault].what for fault in faults], fontsize=9)
    axes.axvline(_P99_BOUND_S, color=BOUND, linewidth=1.2)
    axes.set_xscale("log")
    axes.set_xlim(0.8 * _LEAST_S, 12)
    axes.set_xticks([0.01, 0.05, 0.15, 0.6, 1.5, _NEVER_S], ["0.01", "0.05", "0.15", "0.6", "1.5", "never"],
                    fontsize=8.5)
    axes.minorticks_off()
    axes.set_xlabel("seconds from the fault until the rails that are left carry 0.95 of raw TCP's rate", fontsize=9)
    axes.set_title(f"A fault at one of the rails of 1 Gb/s, {sum(map(len, found.values()))} networks and settings",
                   fontsize=10.5, loc="left", color=_INK)
    finish(figure, axes,
           [Line2D([], [], marker="o", linestyle="", color=_VISIBLE, markersize=4.5,
                   label="a lost carrier or a reset reveals the loss"),
            Line2D([], [], marker="o", linestyle="", color=_SILENT, markersize=4.5, label="only silence does")], path)


if __name__ == "__main__":
    draw("real_hosts", __doc__, "N2.json", save)
