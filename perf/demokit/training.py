"""Runs the demo's trainings in labs: first without any network, which says how long compute takes, then over rails whose rate
makes communication as long."""
from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Callable

from labkit.steps import TAIL_CHARS, in_lab, tails

NICS = 2
RANKS = 2
_BUSY_THREADS = 2  # of a rank, overlapped: one computes, one makes progress
TITLES = {"alone": "no communication", "gloo": "Gloo, both rails", "railweave": "railweave", "overlap": "railweave, overlapped"}
_TRAINER = Path(__file__).resolve().parent / "trainer.py"
_ALONE_TIMEOUT_S = 180.0
_STEPS_ALONE = 4
_LEAST_RATE_MBIT = 10
_LOSS_TOLERANCE = 1e-4  # between Gloo's order of adding and ours, over all steps
_PAYLOAD_SHARE = 0.956  # of a rail's rate: what raw TCP reaches on one


class DemoError(RuntimeError):
    """A training failed; the message holds the end of what it said."""


@dataclass(frozen=True)
class Plan:
    """`ratio`: how long a step's communication takes on the rails, in steps of compute alone."""

    steps: int
    sequences: int
    ratio: float
    package: Path  # the folder that holds the Python package
    loopback: bool


@dataclass
class Training:
    """What rank 0 measured. Of the steps, all but the first (which records the order of layers)."""

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
        """Received over the rail, as a mean over the step. Over loopback: by both ranks."""
        return self.median_of(lambda step: step["received"].get(rail, 0) * 8e-9 / step["seconds"])

    @property
    def rails(self) -> list[str]:
        return list(self.steps[-1]["received"])

    def plain(self) -> dict[str, Any]:
        """The figures that the table shows, and all that they are made of."""
        return {"step_s": self.step_s, "waited_s": self.waited_s, "computed_s": self.computed_s,
                "communication_s": self.communication_s,
                "rail_gbps": {rail: self.rail_gbps(rail) for rail in self.rails}, "steps": self.steps}


@dataclass
class Outcome:
    trainings: dict[str, Training]
    rate_mbit: int  # of each rail; 0: unshaped, over loopback
    loopback: bool
    cores: int

    @property
    def disagreement(self) -> str:
        """What is wrong with the losses; empty: nothing."""
        gloo, plain, overlapped = (self.trainings[name].losses for name in ("gloo", "railweave", "overlap"))
        if plain != overlapped:
            return f"the losses with and without overlap differ: {plain} and {overlapped}"
        for step, (one, other) in enumerate(zip(gloo, plain)):
            if not math.isclose(one, other, rel_tol=_LOSS_TOLERANCE):
                return f"the losses over Gloo and railweave differ at step {step + 1}: {one} and {other}"
        return ""

    @property
    def remark(self) -> str:
        """Why compute is slower when overlapped, where this machine is the reason; empty: it is not."""
        alone_s, overlapped_s = self.trainings["alone"].computed_s, self.trainings["overlap"].computed_s
        if self.cores >= RANKS * _BUSY_THREADS or overlapped_s <= alone_s:
            return ""
        return (f"Overlapped, compute takes {overlapped_s:.2f} s of a step, alone {alone_s:.2f} s: "
                f"{RANKS} ranks and their progress threads share this machine's cores ({self.cores}).")


def _steps(plan: Plan, variants: list[str], steps: int, timeout_s: float, progress: Path) -> list[dict[str, Any]]:
    train = [sys.executable, "-B", str(_TRAINER), "--sequences", str(plan.sequences), "--steps", str(steps), "--progress", str(progress)]
    return [{"name": variant, "argv": [*train, "--variant", variant], "before": [], "after": [], "timeout_s": timeout_s}
            for variant in variants]


class _Follower(threading.Thread):
    """Tells of each line that is appended to a file."""

    def __init__(self, path: Path, show: Callable[[dict[str, Any]], None]) -> None:
        super().__init__(daemon=True)
        self._path, self._show, self._over, self._read = path, show, threading.Event(), 0

    def run(self) -> None:
        while not self._over.wait(0.2):
            self._look()

    def _look(self) -> None:
        if not self._path.exists():
            return
        text = self._path.read_text()
        whole = text[self._read:text.rfind("\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            self._show(json.loads(line))

    def stop(self) -> None:
        self._over.set()
        self.join()
        self._look()


def _train(plan: Plan, where: list[str], variants: list[str], steps: int, timeout_s: float,
           show: Callable[[dict[str, Any]], None], fell_back: Callable[[str], None]) -> dict[str, Training]:
    with tempfile.TemporaryDirectory(prefix="railweave-demo-") as name:
        folder = Path(name)
        follower = _Follower(folder / "progress", show)
        (folder / "steps.json").write_text(json.dumps({"steps": _steps(plan, variants, steps, timeout_s, folder / "progress")}))
        follower.start()
        try:
            status, said = in_lab(where, folder / "steps.json", lambda _step: None, fell_back)
        finally:
            follower.stop()
        if status != 0:
            raise DemoError(f"exit status {status}\n{said[-TAIL_CHARS:]}{tails(folder)}")
        found = {variant: json.loads((folder / f"{variant}.json").read_text()) for variant in variants}
    return {variant: Training(variant, each["parameters"], each["communication_s"], each["steps"]) for variant, each in found.items()}


def _bytes_received(parameters: int, ranks: int = RANKS, each_bytes: int = 4) -> float:
    """By a rank in a step: two all-gathers and a reduce-scatter of all parameters."""
    return 3 * parameters * each_bytes * (ranks - 1) / ranks


def run(plan: Plan, show: Callable[[dict[str, Any]], None], fell_back: Callable[[str], None]) -> Outcome:
    """Raises DemoError. `show` gets each training's steps as they end ({"variant", "step", "of", "loss", ...}), `fell_back` why
    it all goes over loopback."""
    reasons: list[str] = []

    def note(reason: str) -> None:
        if not reasons:
            fell_back(reason)
        reasons.append(reason)

    os.environ["PYTHONPATH"] = os.pathsep.join([str(plan.package), *filter(None, [os.environ.get("PYTHONPATH")])])
    lab = ["--loopback"] if plan.loopback else ["--nics", str(NICS)]
    trainings = _train(plan, lab, ["alone"], min(plan.steps, _STEPS_ALONE), _ALONE_TIMEOUT_S, show, note)
    alone = trainings["alone"]
    rate_mbit = 0
    if not (plan.loopback or reasons):
        seconds = plan.ratio * alone.step_s
        rate_mbit = max(_LEAST_RATE_MBIT, round(_bytes_received(alone.parameters) * 8e-6 / seconds / NICS / _PAYLOAD_SHARE))
        lab += ["--rate", f"{rate_mbit}mbit"]
    patience_s = 60 + plan.steps * alone.step_s * (2 + 4 * plan.ratio)
    trainings |= _train(plan, lab, [v for v in TITLES if v != "alone"], plan.steps, patience_s, show, note)
    return Outcome(trainings, rate_mbit, plan.loopback or bool(reasons), len(os.sched_getaffinity(0)))
