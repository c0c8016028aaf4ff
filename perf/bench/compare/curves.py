"""Draws time and bus bandwidth by size, a line per side."""
from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: E402

from .sweep import kSides  # noqa: E402
from .table import size_text  # noqa: E402

_COLOURS = {"ours": "#2f6fb0", "gloo": "#e08a2c", "mpi": "#4b9b5f"}
_MARKS = {"ours": "o", "gloo": "s", "mpi": "^"}


def _line(axes: Axes, sides: dict[str, dict[int, dict]], figure: str) -> None:
    for side, by_size in sides.items():
        axes.plot(list(by_size), [value[figure] for value in by_size.values()], color=_COLOURS[side],
                  marker=_MARKS[side], markersize=4.5, linewidth=1.7, label=kSides[side],
                  zorder=3 if side == "ours" else 2)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    few = max(map(len, sides.values())) <= 12
    axes.xaxis.set_major_locator(LogLocator(base=2 if few else 8, numticks=32))
    lowest, highest = axes.get_ylim()
    if highest < 300 * lowest:  # decades alone would leave the axis nearly bare
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=32))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(int(size))))
    axes.set_xlabel("size")
    axes.grid(which="major", color="#e2e2e2", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.tick_params(axis="x", labelrotation=35)


def draw(path: Path, title: str, sides: dict[str, dict[int, dict]]) -> Path:
    """Writes the picture. Returns its path."""
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    figure, (times, rates) = plt.subplots(1, 2, figsize=(12.5, 5), layout="constrained")
    _line(times, sides, "time_us")
    _line(rates, sides, "busbw_gb_per_s")
    times.set_title("time of one operation, microseconds (less is better)", fontsize=10)
    rates.set_title("bus bandwidth, GB/s (more is better)", fontsize=10)
    for axes in (times, rates):
        axes.yaxis.set_major_formatter(plain)
    times.legend(frameon=False)
    figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path
