"""The trainings side by side, as a table."""
from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from .training import TITLES, Outcome


def show(outcome: Outcome, title: str, console: Console) -> None:
    rails = outcome.trainings["overlap"].rails
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("FSDP2 over", no_wrap=True)
    for name in ["step\ns", "against\nGloo", "waiting for\ncollectives\ns", "the same\ncollectives\nalone, s",
                 *(f"{rail}, mean\nof a step\nGb/s" for rail in rails), "loss\nat the end"]:
        table.add_column(name, justify="right")
    gloo_s = outcome.trainings["gloo"].step_s
    for variant, name in TITLES.items():
        one = outcome.trainings[variant]
        if variant == "alone":
            table.add_row(name, f"{one.step_s:.2f}", "", "", "", *("" for _ in rails), "")
            table.add_section()
            continue
        best = "[bold]" if variant == "overlap" else ""
        table.add_row(name, f"{best}{one.step_s:.2f}", f"{best}{gloo_s / one.step_s:.2f}x", f"{one.waited_s:.2f}",
                      f"{one.communication_s:.2f}",
                      *(f"{one.rail_gbps(rail):.2f}" for rail in rails), f"{one.losses[-1]:.4f}")
    console.print(title, style="bold", soft_wrap=True, highlight=False)
    console.print(table)
    if outcome.remark:
        console.print(outcome.remark, soft_wrap=True, highlight=False)
