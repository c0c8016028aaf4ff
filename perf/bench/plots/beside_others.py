"""Railweave's figures beside those of others, out of perf/results:
E1 (one connection), C3 (collectives) and O1 (training steps).

    .venv/bin/python perf/bench/plots/beside_others.py perf/results docs/pictures/beside_others.png
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

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.plots.of_results import COLOURS  # noqa: E402

_OURS, _OTHERS = COLOURS[0], "#b8c4d0"
Bar = tuple[str, float, str]  # name, height, text above the bar


def _case(results: Path, identity: str, case: str) -> dict[str, Any]:
    document = json.loads((results / f"{identity}.json").read_text())
    values = next(one["values"] for one in document["cases"] if one["case"] == case)
    return {name: value["median"] for name, value in values.items()}


def one_connection(results: Path) -> list[Bar]:
    found = _case(results, "E1", "2x1")
    bars = (("NCCL's sockets'\nway: one TCP", "one_gbps"), ("kernel's\nMultipath TCP", "mptcp_gbps"),
            ("Railweave", "ours_gbps"))
    return [(name, found[key], f"{found[key]:.2f}") for name, key in bars]


def collectives(results: Path) -> list[Bar]:
    """Returns the bars of an all-reduce of 64 MiB."""
    found = _case(results, "C3", "all_reduce/large")
    size = str(64 << 20)
    return [(name, found[key][size], f"{found[key][size]:.1f}")
            for name, key in (("Gloo", "gloo_gbps"), ("Railweave", "ours_gbps"))]


def training(results: Path) -> list[Bar]:
    found = _case(results, "O1", "ratio2")
    return [(name, found[key], f"{found[key]:.1f}")
            for name, key in (("Gloo", "better_gloo_s"), ("Railweave", "overlap_s"))]


def _draw(axes: Axes, title: str, bars: list[Bar]) -> None:
    for at, (name, height, text) in enumerate(bars):
        axes.bar(at, height, width=0.6, color=_OURS if name == "Railweave" else _OTHERS)
        axes.text(at, height, text, ha="center", va="bottom", fontsize=10)
    axes.set_xticks(range(len(bars)), [name for name, _, _ in bars], fontsize=9)
    axes.set_title(title, fontsize=10)
    axes.set_yticks([])
    axes.set_ylim(0, 1.18 * max(height for _, height, _ in bars))
    axes.spines[["top", "right", "left"]].set_visible(False)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="perf/bench/plots/beside_others.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the folder of E1.json, C3.json and O1.json")
    parser.add_argument("picture", type=Path)
    args = parser.parse_args(argv)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3), layout="constrained",
                                                  width_ratios=(3, 2.4, 2.4))
    _draw(left, "One connection over two rails of 1 Gb/s:\nGb/s, higher is better", one_connection(args.results))
    _draw(middle, "torch all-reduce of 64 MiB, 2 x 2 Gb/s:\nGb/s, higher is better", collectives(args.results))
    _draw(right, "FSDP2 step, communication 2 x compute:\nseconds, lower is better", training(args.results))
    figure.savefig(args.picture, dpi=130)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
