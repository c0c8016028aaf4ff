"""Parts that pictures share: colours, and the command line and the ending of pictures of perf/results."""
from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Callable

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

BOUND = "#c0392b"
COLOURS = ("#2f6fb0", "#e08a2c", "#4b9b5f", "#9a5fb4", "#c0504d", "#7f7f7f", "#3aa6a6", "#b5a642")  # of like things


def finish(figure: Figure, axes: Axes, handles: list[Line2D], path: Path) -> None:
    """Writes a PNG. Its legend has `handles` and the two bounds. Raises OSError."""
    axes.legend(handles=[*handles, Line2D([], [], color=BOUND, linestyle=(0, (4, 2)), label="bound of the median"),
                         Line2D([], [], color=BOUND, label="bound of the 99th percentile")],
                fontsize=8, loc="lower left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw(name: str, about: str, result: str, save: Callable[[dict[str, Any], Path], None]) -> None:
    """Runs the program perf/bench/plots/NAME.py. `result`: such as N2.json."""
    parser = argparse.ArgumentParser(prog=f"perf/bench/plots/{name}.py", description=about,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path, help=f"perf/results/{result}")
    parser.add_argument("picture", type=Path, help="the PNG to write")
    args = parser.parse_args()
    args.picture.parent.mkdir(parents=True, exist_ok=True)
    save(json.loads(args.result.read_text()), args.picture)
