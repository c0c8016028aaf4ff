"""Prints the transfer's figures as a table."""
from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from .transfer import Outcome, Transfer

_IDLE_CORES = 0.25  # cores; on a machine that is busier by itself, CPU per GB means nothing


def _amount(count: float, outcome: Outcome) -> str:
    return f"{count / outcome.unit[1]:.3f}"


def _rate(transfer: Transfer, rail: str, outcome: Outcome) -> tuple[str, str]:
    if not transfer.carried(rail):
        return "–", "–"
    count = transfer.total_of(rail)
    return _amount(count, outcome), f"{count * 8e-9 / transfer.seconds:.3f}"


def _cpu(transfer: Transfer, who: str) -> str:
    if who == "machine" and transfer.busy_before > _IDLE_CORES:
        return "–"
    return f"{transfer.cpu_s_per_gb[who]:.3f}"


def _rows(table: Table, outcome: Outcome) -> None:
    for rail, own in outcome.own_gbps.items():
        cells = [rail, f"{own:.3f}", *_rate(outcome.striped, rail, outcome)]
        table.add_row(*cells, *(_rate(outcome.single, rail, outcome) if outcome.single else ()))
    table.add_section()
    both = [outcome.striped] + ([outcome.single] if outcome.single else [])

    def line(name: str, own: str, *cells: tuple[str, str]) -> None:
        table.add_row(name, own, *(cell for pair in cells for cell in pair))

    line("payload, total", f"{outcome.sum_gbps:.3f}",
         *((_amount(t.file_bytes, outcome), f"[bold]{t.gbps:.3f}[/]") for t in both))
    line("of the rails' sum", "", *(("", f"[bold]{t.gbps / outcome.sum_gbps:.1%}[/]") for t in both))
    line("seconds", "", *(("", f"{t.seconds:.3g}") for t in both))
    table.add_section()
    for who in ("sender", "receiver", "machine"):
        line(f"CPU s/GB, {who}", "", *(("", _cpu(t, who)) for t in both))
    table.add_section()
    line("SHA-256 received", "", *(("", "[green]same[/]" if t.match else "[red]DIFFERS[/]") for t in both))


def show(outcome: Outcome, title: str, console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", no_wrap=True)
    table.add_column("raw TCP alone\nGb/s", justify="right")
    for name in ["all rails"] + (["one rail"] if outcome.single else []):
        table.add_column(f"{name}\n{outcome.unit[0]}", justify="right")
        table.add_column("\nGb/s", justify="right")
    _rows(table, outcome)
    console.print(title, style="bold", soft_wrap=True, highlight=False)
    console.print(table)
    reasons = []
    if outcome.short:
        reasons.append(f"the transfer took {outcome.striped.seconds:.2g} s only (a larger file takes longer)")
    busy = max(t.busy_before for t in (outcome.striped, outcome.single) if t)
    if busy > _IDLE_CORES:
        reasons.append(f"{busy:.1f} of the machine's cores were busy before (so its CPU is left out)")
    if reasons:
        console.print(f"Where rates are low, this may be why: {' and '.join(reasons)}", soft_wrap=True, highlight=False)
