"""Every trial of R1: how soon the other rail carried all that raw TCP carries there, by how the rail was lost.

    .venv/bin/python perf/bench/plots/rail_losses.py perf/results/R1.json docs/pictures/rail_losses.png
"""
from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.plots.of_results import BOUND, draw, finish  # noqa: E402

_TRIAL, _INK = "#2f6fb0", "#222222"
_NAMES = {
    "down-sender": "link down at the sender", "down-receiver": "link down at the receiver",
    "reset": "connections reset",
    "switch": "link down in the switch", "silent": "silent drop both ways", "one-way": "silent drop one way",
}
_NEVER_S = 10.0  # rail_loss_perf's figure for a trial without recovery before the rail's return
_LEAST_S = 0.005  # least time in the picture; bins are 50 ms


def _bound(case: dict[str, Any], formula: str) -> float:
    """Returns the check's bound in seconds ("<= 1.5")."""
    return next(float(check["bound"].split()[-1]) for check in case["checks"] if check["formula"] == formula)


def _draw(axes: Axes, row: int, case: dict[str, Any]) -> None:
    found = case["sides"]["ours"]["runs"][0]
    seconds = [_NEVER_S if trial["recovered_s"] is None else max(trial["recovered_s"], _LEAST_S)
               for trial in found["trials"]]
    scatter = random.Random(row)
    axes.plot(seconds, [row + scatter.uniform(-0.26, 0.26) for _ in seconds], "o", color=_TRIAL, markersize=3,
              alpha=0.55, markeredgewidth=0)
    median = found["summary"]["median_s"]
    axes.plot([median] * 2, [row - 0.36, row + 0.36], color=_INK, linewidth=1.6)
    axes.annotate(f"{median:.2f} s", (median, row + 0.38), fontsize=8, ha="center", color=_INK)
    axes.plot([_bound(case, "median_s")] * 2, [row - 0.36, row + 0.36], color=BOUND, linewidth=1.2,
              linestyle=(0, (4, 2)))
    axes.plot([_bound(case, "p99_s")] * 2, [row - 0.36, row + 0.36], color=BOUND, linewidth=1.2)


def save(document: dict[str, Any], path: Path) -> None:
    """Writes a PNG of perf/results/R1.json. Raises KeyError if a kind is missing, OSError."""
    cases = {case["case"]: case for case in document["cases"]}
    figure, axes = plt.subplots(figsize=(9.5, 4.2), layout="constrained")
    for row, kind in enumerate(reversed(_NAMES)):
        _draw(axes, row, cases[kind])
    axes.set_yticks(range(len(_NAMES)), reversed(_NAMES.values()), fontsize=9)
    axes.set_xscale("log")
    axes.set_xlim(0.8 * _LEAST_S, 12)
    axes.set_xticks([0.01, 0.1, 0.5, 1, 1.5, 3, _NEVER_S], ["0.01", "0.1", "0.5", "1", "1.5", "3", "never"],
                    fontsize=8.5)
    axes.minorticks_off()
    axes.set_xlabel("seconds from the loss until the other rail carries 0.95 of raw TCP's rate", fontsize=9)
    seen = [case["sides"]["ours"]["runs"][0] for case in cases.values()]
    times = max(len(run["trials"]) for run in seen)
    flawless = not any(run["summary"][what] for run in seen for what in ("errors", "wrong_bytes"))
    axes.set_title(f"One of two 1 Gb/s rails is lost in mid-transfer, {times} times for each way"
                   + ("; no error, no wrong byte" if flawless else ""), fontsize=10.5, loc="left", color=_INK)
    finish(figure, axes, [Line2D([], [], marker="o", linestyle="", color=_TRIAL, markersize=4, label="a trial"),
                          Line2D([], [], color=_INK, label="median")], path)


if __name__ == "__main__":
    draw("rail_losses", __doc__, "R1.json", save)
