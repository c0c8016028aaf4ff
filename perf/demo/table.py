"""Prints the trainings side by side as a table."""
from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from .outcome import LOSS_TOLERANCE, TITLES, Outcome

_COLUMNS = ("Waits: of compute, for collectives. Alone, all at once: a step's collectives without compute "
            "(overlapped there are fewer: parameters that it keeps are not gathered again). Mb/s: mean of a step.")
_AGREEMENT = ("The losses agree in all {} steps: over railweave bit by bit with and without overlap, "
              "with Gloo's to {:g}.")
_ONE_NIC = ("Each of Gloo's operations goes over one NIC, the next over the other: FSDP2 on CPU waits for each, "
            "so one NIC is at work. All at once they use both.")


def show(outcome: Outcome, title: str, console: Console) -> None:
    rails = outcome.trainings["overlap"].rails
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("FSDP2 over", no_wrap=True)
    for name in ["step\ns", "against\nGloo", "compute\ns", "waits\ns", "alone, all\nat once, s",
                 *(f"{rail}\nMb/s" for rail in rails), "loss at\nthe end"]:
        table.add_column(name, justify="right")
    gloo_s = outcome.trainings["gloo"].step_s
    for variant in TITLES:
        one, name = outcome.trainings[variant], outcome.title_of(variant)
        if variant == "alone":
            table.add_row(name, f"{one.step_s:.2f}", "", f"{one.computed_s:.2f}", "", "", *("" for _ in rails), "")
            table.add_section()
            continue
        best = "[bold]" if variant == "overlap" else ""
        table.add_row(name, f"{best}{one.step_s:.2f}", f"{best}{gloo_s / one.step_s:.2f}x", f"{one.computed_s:.2f}",
                      f"{one.waited_s:.2f}", f"{one.communication_s:.2f}",
                      *(f"{1000 * one.rail_gbps(rail):.0f}" for rail in rails), f"{one.losses[-1]:.4f}")
    console.print(title, style="bold", soft_wrap=True, highlight=False)
    console.print(table)
    for line in filter(None, [_COLUMNS, "" if outcome.disagreement
                              else _AGREEMENT.format(len(outcome.trainings["gloo"].losses), LOSS_TOLERANCE),
                              "" if outcome.loopback else _ONE_NIC, outcome.remark]):
        console.print(line, soft_wrap=True, highlight=False)
