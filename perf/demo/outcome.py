"""The measurements of the demo's trainings, and whether they agree."""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Callable

RANKS = 2
TITLES = {"alone": "no communication", "gloo": "Gloo, both rails", "railweave": "railweave",
          "overlap": "railweave, overlapped"}
_BUSY_THREADS = 2  # of an overlapped rank: one computes, one makes progress
LOSS_TOLERANCE = 1e-4  # for the different orders of addition of Gloo and railweave, over all steps


@dataclass
class Training:
    """Rank 0's measurements. Medians leave out the first step, which records the order of layers."""

    variant: str
    parameters: int
    communication_s: float  # of a step's collectives, all at once and without compute
    steps: list[dict[str, Any]] = field(default_factory=list)

    @property
    def losses(self) -> list[float]:
        return [step["loss"] for step in self.steps]

    def median_of(self, what: Callable[[dict[str, Any]], float]) -> float:
        return median(what(step) for step in self.steps[1:])

    @property
    def step_s(self) -> float:
        return self.median_of(lambda step: step["seconds"])

    @property
    def waited_s(self) -> float:
        return self.median_of(lambda step: step["waited_s"])

    @property
    def computed_s(self) -> float:
        return self.median_of(lambda step: step["seconds"] - step["waited_s"])

    def rail_gbps(self, rail: str) -> float:
        """Returns the mean rate received over the rail in a step. Over loopback: by both ranks."""
        return self.median_of(lambda step: step["received"].get(rail, 0) * 8e-9 / step["seconds"])

    @property
    def rails(self) -> list[str]:
        return list(self.steps[-1]["received"])

    def plain(self) -> dict[str, Any]:
        """Returns the figures of the table and the data behind them."""
        return {"step_s": self.step_s, "waited_s": self.waited_s, "computed_s": self.computed_s,
                "communication_s": self.communication_s,
                "rail_gbps": {rail: self.rail_gbps(rail) for rail in self.rails}, "steps": self.steps}


@dataclass
class Outcome:
    trainings: dict[str, Training]
    rate_mbit: int  # of each rail; 0: unshaped, over loopback
    loopback: bool
    cores: int

    def title_of(self, variant: str) -> str:
        return "Gloo" if variant == "gloo" and self.loopback else TITLES[variant]

    @property
    def ratio(self) -> float:
        """Time of a step's collectives without compute, in steps of compute alone."""
        return self.trainings["railweave"].communication_s / self.trainings["alone"].step_s

    @property
    def disagreement(self) -> str:
        """Error about the losses; empty: none."""
        gloo, plain, overlapped = (self.trainings[name].losses for name in ("gloo", "railweave", "overlap"))
        if plain != overlapped:
            return f"the losses with and without overlap differ: {plain} and {overlapped}"
        for step, (one, other) in enumerate(zip(gloo, plain)):
            if not math.isclose(one, other, rel_tol=LOSS_TOLERANCE):
                return f"the losses over Gloo and railweave differ at step {step + 1}: {one} and {other}"
        return ""

    @property
    def remark(self) -> str:
        """Reason why compute is slower when overlapped, if this machine is the reason; else empty."""
        alone_s, overlapped_s = self.trainings["alone"].computed_s, self.trainings["overlap"].computed_s
        if self.cores >= RANKS * _BUSY_THREADS or overlapped_s <= alone_s:
            return ""
        return (f"Overlapped, compute takes {overlapped_s:.2f} s of a step, alone {alone_s:.2f} s: "
                f"{RANKS} ranks and their progress threads share this machine's cores ({self.cores}).")
