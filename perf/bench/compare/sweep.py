"""The order of the programs: bands of sizes, each with as many iterations as its sizes allow, and the sides alternating
within a band."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.programs import command

kSides = {"ours": "Railweave", "gloo": "Gloo", "mpi": "Open MPI"}
kOperations = ("all_gather", "reduce_scatter", "all_reduce")
# Greatest size of a band, iterations, warm-up iterations. The last band has all larger sizes.
_BANDS = ((64 << 10, 200, 20), (4 << 20, 30, 5), (1 << 62, 4, 1))
_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Sweep:
    """The measurements of one lab."""

    operations: tuple[str, ...]
    sides: tuple[str, ...]
    least: int
    greatest: int
    runs: int


def _bands(sweep: Sweep) -> list[tuple[int, int, int, int]]:
    """Returns (least, greatest, iterations, warm-up) of each band."""
    bands, least = [], sweep.least
    for limit, iterations, warmup in _BANDS:
        sizes = [least << n for n in range(64) if least << n <= min(limit, sweep.greatest)]
        if sizes:
            bands.append((sizes[0], sizes[-1], iterations, warmup))
            least = sizes[-1] * 2
    return bands


def _argv(side: str, operation: str, band: tuple[int, int, int, int]) -> list[str]:
    least, greatest, iterations, warmup = band
    sizes = ["-b", str(least), "-e", str(greatest), "-n", str(iterations), "-w", str(warmup)]
    if side == "ours":
        return [f"{operation}_perf", *sizes, "-f", "2"]
    return [f"{side}_perf", "--operation", operation, *sizes]


def steps(sweep: Sweep, programs: Path) -> list[dict]:
    """Returns the steps for lab.steps. A step is named OPERATION-SIDE-BAND-RUN."""
    return [{"name": f"{operation}-{side}-{number}-{run}", "argv": command(_argv(side, operation, band), programs),
             "before": [], "after": [], "timeout_s": _TIMEOUT_S}
            for operation in sweep.operations for number, band in enumerate(_bands(sweep))
            for run in range(sweep.runs) for side in sweep.sides]


def argv_names(sweep: Sweep) -> list[str]:
    """Returns the names of the needed programs."""
    return [f"{operation}_perf" for operation in sweep.operations if "ours" in sweep.sides] + \
           [f"{side}_perf" for side in sweep.sides if side != "ours"]
