"""Prints the figures of one operation as a table: a line per size, the best side bold."""
from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from .sweep import kSides


def size_text(size: int) -> str:
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift} {unit}"
    return f"{size} B"


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _cells(sides: dict[str, dict[int, dict]], size: int) -> list[str]:
    times = {side: by_size[size]["time_us"] for side, by_size in sides.items() if size in by_size}
    best = min(times, key=times.get)
    cells = []
    for side, by_size in sides.items():
        if size not in by_size:
            cells += ["", ""]
            continue
        mark = ("[bold]", "[/]") if side == best else ("", "")
        cells += [f"{mark[0]}{_number(times[side])}{mark[1]}", f"{by_size[size]['busbw_gb_per_s']:.3f}"]
    others = [time for side, time in times.items() if side != "ours"]
    return [*cells, f"{min(others) / times['ours']:.2f}" if others and "ours" in times else ""]


def show(title: str, sides: dict[str, dict[int, dict]]) -> None:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("size", justify="right")
    for side in sides:
        table.add_column(f"{kSides[side]}\nus", justify="right")
        table.add_column("busbw\nGB/s", justify="right")
    table.add_column("ours: times\nas fast", justify="right")
    for size in sorted({size for by_size in sides.values() for size in by_size}):
        table.add_row(size_text(size), *_cells(sides, size))
    Console(width=max(100, Console().width)).print(table)
