"""Draws one transfer beside another: Gb/s per rail over time above, bytes per rail over time below."""
from __future__ import annotations

import itertools
from pathlib import Path
from typing import Iterator

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

from bench.plots.of_results import COLOURS  # noqa: E402
from demo.transfer.transfer import Outcome, Transfer  # noqa: E402

_INK, _FAINT = "#222222", "#8a8a8a"


def _edges(transfer: Transfer) -> list[float]:
    return [0.0, *transfer.ends_s]


def _rates(transfer: Transfer, rail: str) -> list[float]:
    """Returns Gb/s per bin. The last bin is short; a bin without width has no rate."""
    edges = _edges(transfer)
    return [count * 8e-9 / width if (width := end - begin) > 1e-6 else 0.0
            for count, begin, end in zip(transfer.rail_bytes[rail], edges, edges[1:])]


def _rails(outcome: Outcome) -> list[str]:
    return list(outcome.own_gbps)


def _coloured(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Returns each rail and its colour. Many rails share colours."""
    return zip(_rails(outcome), itertools.cycle(COLOURS))


def _draw_rates(axes: Axes, transfer: Transfer, outcome: Outcome) -> None:
    edges = _edges(transfer)
    floor = [0.0] * len(transfer.ends_s)
    for rail, colour in _coloured(outcome):
        if not transfer.carried(rail):
            continue
        top = [below + rate for below, rate in zip(floor, _rates(transfer, rail))]
        axes.stairs(top, edges, baseline=floor, fill=True, color=colour, alpha=0.85, linewidth=0, label=rail)
        floor = top
    level = 0.0
    for rail in _rails(outcome):
        level += outcome.own_gbps[rail]
        last = rail == _rails(outcome)[-1]
        axes.axhline(level, color=_INK if last else _FAINT, linestyle="--" if last else ":", linewidth=1.1)


def _draw_bytes(axes: Axes, transfer: Transfer, outcome: Outcome) -> None:
    """Stacks the bytes like the rates, so that the top is the total received."""
    edges = _edges(transfer)
    unit, unit_bytes = outcome.unit
    floor = [0.0] * len(edges)
    for rail, colour in _coloured(outcome):
        counts = transfer.rail_bytes.get(rail, [])
        if not transfer.carried(rail):
            continue
        top = [below + count / unit_bytes for below, count in zip(floor, itertools.accumulate(counts, initial=0))]
        axes.fill_between(edges, floor, top, color=colour, alpha=0.85, linewidth=0)
        axes.annotate(f"{rail}  {sum(counts) / unit_bytes:.3g} {unit}", (edges[-1], (floor[-1] + top[-1]) / 2),
                      xytext=(6, 0), textcoords="offset points", va="center", color=colour, fontsize=9.5,
                      annotation_clip=False)
        floor = top


def _title(transfer: Transfer, outcome: Outcome, name: str) -> str:
    cpu = transfer.cpu_s_per_gb
    return (f"{name}: {transfer.gbps:.2f} Gb/s, {transfer.gbps / outcome.sum_gbps:.0%} of the rails' sum\n"
            f"{transfer.seconds:.3g} s; CPU s per GB: sender {cpu['sender']:.2f}, receiver {cpu['receiver']:.2f}")


def _finish(rates: Axes, counts: Axes, outcome: Outcome, end_s: float, first: bool) -> None:
    for axes in (rates, counts):
        axes.set_xlim(0, end_s)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=9)
        axes.grid(axis="y", color="#e6e6e6", linewidth=0.7)
        axes.set_axisbelow(True)
    counts.set_xlabel("seconds since the transfer began")
    if first:
        rates.set_ylabel("Gb/s, by rail")
        counts.set_ylabel(f"{outcome.unit[0]} received, by rail")


def save(outcome: Outcome, title: str, path: Path) -> None:
    """Writes a PNG. Raises OSError."""
    transfers = [(outcome.striped, "All rails")] + ([(outcome.single, "One rail")] if outcome.single else [])
    end_s = 1.25 * max(transfer.ends_s[-1] for transfer, _ in transfers)  # room for the labels beside the curves
    figure, grid = plt.subplots(2, len(transfers), figsize=(5.6 * len(transfers) + 0.6, 6.6), squeeze=False,
                                sharex="col", sharey="row", height_ratios=(3, 2), layout="constrained")
    for column, (transfer, name) in enumerate(transfers):
        rates, counts = grid[0][column], grid[1][column]
        _draw_rates(rates, transfer, outcome)
        _draw_bytes(counts, transfer, outcome)
        rates.set_title(_title(transfer, outcome, name), fontsize=10.5, loc="left", color=_INK)
        _finish(rates, counts, outcome, end_s, column == 0)
    top = max(max(sum(bin_) for bin_ in zip(*(_rates(t, rail) for rail in t.rail_bytes if rail in outcome.own_gbps)))
              for t, _ in transfers)
    grid[0][0].set_ylim(0, 1.18 * max(outcome.sum_gbps, min(top, 1.5 * outcome.sum_gbps)))
    grid[0][0].annotate(f"sum of what raw TCP reaches on each rail alone: {outcome.sum_gbps:.2f} Gb/s",
                        (0, outcome.sum_gbps), xytext=(4, 4), textcoords="offset points", fontsize=8.5, color=_INK)
    grid[0][0].legend(loc="lower left", fontsize=9, framealpha=0.9, ncols=min(4, len(outcome.own_gbps)))
    figure.suptitle(title, fontsize=12, x=0.01, ha="left", fontweight="bold")
    figure.savefig(path, dpi=140)
    plt.close(figure)
