"""Draws one step of each training on one time scale: the waits of compute, and the collectives in flight."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402

from demo.outcome import Outcome, Training  # noqa: E402

_COMPUTE, _WAIT, _GATHER, _REDUCE, _INK = "#4b9b5f", "#dddddd", "#2f6fb0", "#e08a2c", "#222222"
_ROWS = ("reduce-scatter", "all-gather", "compute")


def _typical(one: Training) -> dict[str, Any]:
    """Returns the step whose time is nearest to the median."""
    return min(one.steps[1:], key=lambda step: abs(step["seconds"] - one.step_s))


def _lanes(operations: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """Gives operations that were in flight at the same time separate lanes."""
    ends: list[float] = []
    placed = []
    for operation in operations:
        lane = next((n for n, end in enumerate(ends) if end <= operation["begin"]), len(ends))
        ends[lane:lane + 1] = [operation["end"] or operation["begin"]]
        placed.append((lane, operation))
    return placed


def _draw(axes: Axes, one: Training, outcome: Outcome) -> None:
    step = _typical(one)
    axes.broken_barh([(0, step["seconds"])], (_ROWS.index("compute") - 0.4, 0.8), color=_COMPUTE)
    axes.broken_barh([(begin, end - begin) for begin, end in step["waits"]], (_ROWS.index("compute") - 0.4, 0.8),
                     color=_WAIT)
    for name, colour in (("all-gather", _GATHER), ("reduce-scatter", _REDUCE)):
        placed = _lanes([operation for operation in step["operations"]
                         if operation["name"] == name and operation["end"]])
        lanes = 1 + max((lane for lane, _ in placed), default=0)
        for lane, operation in placed:
            axes.broken_barh([(operation["begin"], operation["end"] - operation["begin"])],
                             (_ROWS.index(name) - 0.4 + 0.8 * lane / lanes, 0.8 / lanes), color=colour,
                             edgecolor="white", linewidth=0.4)
    axes.axvline(step["seconds"], color=_INK, linewidth=1.0)
    axes.set_yticks(range(len(_ROWS)), _ROWS, fontsize=9)
    ratio = outcome.trainings["gloo"].step_s / one.step_s
    against = "" if one.variant == "gloo" else f", {ratio:.2f} times as fast as over Gloo"
    axes.set_title(f"{outcome.title_of(one.variant)}: {one.step_s:.2f} s a step{against}; "
                   f"compute waits for {one.waited_s:.2f} s of it", fontsize=10.5, loc="left", color=_INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)


def save(outcome: Outcome, title: str, path: Path) -> None:
    """Writes a PNG. Raises OSError."""
    shown = [one for name, one in outcome.trainings.items() if name != "alone"]
    figure, grid = plt.subplots(len(shown), 1, figsize=(11, 2.1 * len(shown) + 1.2), sharex=True, layout="constrained")
    for axes, one in zip(grid, shown):
        _draw(axes, one, outcome)
    alone_s = outcome.trainings["alone"].step_s
    for axes in grid:
        axes.axvline(alone_s, color=_INK, linestyle=":", linewidth=1.1)
    grid[-1].set_xlim(0, 1.02 * max(_typical(one)["seconds"] for one in shown))
    shown_is = ("seconds since the step began, at rank 0, in the step nearest to the median; "
                "what is on its way at once is drawn side by side")
    grid[-1].set_xlabel("\n".join(filter(None, [shown_is, outcome.remark])))
    figure.legend(handles=[Patch(color=_COMPUTE, label="computes"), Patch(color=_WAIT, label="waits"),
                           Patch(color=_GATHER, label="all-gather on its way"),
                           Patch(color=_REDUCE, label="reduce-scatter on its way"),
                           Line2D([], [], color=_INK, linestyle=":", label="a step of compute alone")],
                  loc="outside lower left", ncols=5, fontsize=9, frameon=False)
    figure.suptitle(title.replace("; ", "\n"), fontsize=12, x=0.01, ha="left", fontweight="bold")
    figure.savefig(path, dpi=140)
    plt.close(figure)
