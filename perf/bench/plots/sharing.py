"""Senders that share one NIC, before and after: the rate of each over time, and the even share as a thin line.

    .venv/bin/python perf/bench/plots/sharing.py BEFORE.json AFTER.json docs/pictures/sharing.png \\
        --before "Raw TCP" --after "Railweave"

Both files are of perf/bench/incast/sharing_perf.py --json.
"""
from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.incast import course  # noqa: E402
from bench.plots.of_results import COLOURS  # noqa: E402

_INK = "#222222"
_MOST = 4  # times the even share of all senders: upper limit of the picture
_HEADROOM = 1.05


def _draw(axes: Axes, document: dict[str, Any], name: str) -> None:
    for line in course.lines(document):
        axes.plot(line.at_s, line.mbps, color=COLOURS[line.sender % len(COLOURS)], linewidth=1.1)
    even, summary = course.even_share(document), document["summary"]
    axes.stairs(even.mbps, even.edges_s, baseline=None, color=_INK, linewidth=0.8, linestyle=(0, (4, 2)), zorder=3)
    axes.set_title(f"{name}: {summary['goodput_gbps']:.2f} Gb/s in all\n"
                   f"fairness index (1: all alike) in the median second {summary['jain_median']:.3f}, "
                   f"in the worst {summary['jain_least']:.3f}", fontsize=10, loc="left", color=_INK)
    axes.set_xlabel("seconds since the first sender began", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)


def _top_mbps(document: dict[str, Any]) -> float:
    """Returns an upper limit with room for everything drawn after the first joins, when one sender still has much of
    the link, unless the rest would become flat."""
    highest = max((rate for line in course.lines(document) for rate in line.mbps), default=0.0)
    return _HEADROOM * min(highest, _MOST * 1000 * document["summary"]["goodput_gbps"] / document["summary"]["senders"])


def save(before: dict[str, Any], after: dict[str, Any], names: tuple[str, str], path: Path) -> None:
    """Writes a PNG. Raises KeyError if a document is not sharing_perf's, OSError."""
    figure, grid = plt.subplots(1, 2, figsize=(11, 4.2), sharex=True, sharey=True, layout="constrained")
    for axes, document, name in zip(grid, (before, after), names):
        _draw(axes, document, name)
    grid[0].set_ylabel("Mb/s of each sender", fontsize=9)
    grid[0].set_ylim(0, max(_top_mbps(before), _top_mbps(after)))
    grid[0].set_xlim(0, max(one["left_s"] for document in (before, after) for one in document["series"]["visits"]))
    figure.legend(handles=[Line2D([], [], color=COLOURS[0], label="a sender"),
                           Line2D([], [], color=_INK, linewidth=0.8, linestyle=(0, (4, 2)),
                                  label="the even share of those that send")],
                  loc="outside lower left", ncols=2, fontsize=8.5, frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="perf/bench/plots/sharing.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before_json", type=Path, help="drawn on the left")
    parser.add_argument("after_json", type=Path, help="drawn on the right")
    parser.add_argument("picture", type=Path, help="the PNG to write")
    parser.add_argument("--before", default="Before", metavar="NAME", help="title of the left picture (Before)")
    parser.add_argument("--after", default="After", metavar="NAME", help="title of the right picture (After)")
    args = parser.parse_args(argv)
    args.picture.parent.mkdir(parents=True, exist_ok=True)
    before, after = (json.loads(file.read_text()) for file in (args.before_json, args.after_json))
    save(before, after, (args.before, args.after), args.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
