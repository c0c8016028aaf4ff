"""Runs the demo's trainings in labs: first without any network, to measure compute, then over rails whose rate makes
communication equally long."""
from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from lab.steps import TAIL_CHARS, in_lab, tails

from .follower import Follower
from .outcome import RANKS, TITLES, Outcome, Training
from .rail_rate import rail_mbit

NICS = 2
_HERE = Path(__file__).resolve().parent
_TRAINER, _SETTINGS = _HERE / "trainer.py", _HERE / "settings.py"
_SETTINGS_TIMEOUT_S = 60.0
_ALONE_TIMEOUT_S = 180.0
_STEPS_ALONE = 4
_LEAST_RATE_MBIT = 10


class DemoError(RuntimeError):
    """A training failed. The message has the end of its output."""


@dataclass(frozen=True)
class Plan:
    """`ratio`: time of a step's communication on the rails, in steps of compute alone."""

    steps: int
    sequences: int
    ratio: float
    package: Path  # folder with the Python package
    loopback: bool


def _steps(plan: Plan, variants: list[str], steps: int, timeout_s: float, progress: Path) -> list[dict[str, Any]]:
    train = [sys.executable, "-B", str(_TRAINER), "--sequences", str(plan.sequences), "--steps", str(steps),
             "--progress", str(progress)]
    return [_step(variant, [*train, "--variant", variant], timeout_s) for variant in variants]


def _step(name: str, argv: list[str], timeout_s: float) -> dict[str, Any]:
    return {"name": name, "argv": argv, "before": [], "after": [], "timeout_s": timeout_s}


def _run(steps: list[dict[str, Any]], where: list[str], folder: Path, fell_back: Callable[[str], None]) -> None:
    """Runs the steps in a lab. Raises DemoError with the end of the ranks' output."""
    (folder / "steps.json").write_text(json.dumps({"steps": steps}))
    status, said = in_lab(where, folder / "steps.json", lambda _step: None, fell_back)
    if status != 0:
        raise DemoError(f"exit status {status}\n{said[-TAIL_CHARS:]}{tails(folder)}")


def _check_settings(where: list[str], fell_back: Callable[[str], None]) -> None:
    """Checks RAILWEAVE_* before minutes of work. Raises DemoError with the ranks' message."""
    with tempfile.TemporaryDirectory(prefix="railweave-demo-") as name:
        _run([_step("settings", [sys.executable, "-B", str(_SETTINGS)], _SETTINGS_TIMEOUT_S)], where, Path(name),
             fell_back)


def _train(plan: Plan, where: list[str], variants: list[str], steps: int, timeout_s: float,
           show: Callable[[dict[str, Any]], None], fell_back: Callable[[str], None]) -> dict[str, Training]:
    with tempfile.TemporaryDirectory(prefix="railweave-demo-") as name:
        folder = Path(name)
        follower = Follower(folder / "progress", show)
        follower.start()
        try:
            _run(_steps(plan, variants, steps, timeout_s, folder / "progress"), where, folder, fell_back)
        finally:
            follower.stop()
        found = {variant: json.loads((folder / f"{variant}.json").read_text()) for variant in variants}
    return {variant: Training(variant, each["parameters"], each["communication_s"], each["steps"])
            for variant, each in found.items()}


def _bytes_received(parameters: int, ranks: int = RANKS, each_bytes: int = 4) -> float:
    """Returns the bytes that a rank receives in a step: two all-gathers and a reduce-scatter of all parameters."""
    return 3 * parameters * each_bytes * (ranks - 1) / ranks


def run(plan: Plan, show: Callable[[dict[str, Any]], None], fell_back: Callable[[str], None]) -> Outcome:
    """Runs the demo. Calls `show` for each step that ends ({"variant", "step", "of", "loss", ...}), and `fell_back`
    with the reason if everything goes over loopback. Raises DemoError."""
    reasons: list[str] = []

    def note(reason: str) -> None:
        if not reasons:
            fell_back(reason)
        reasons.append(reason)

    os.environ["PYTHONPATH"] = os.pathsep.join([str(plan.package), *filter(None, [os.environ.get("PYTHONPATH")])])
    lab = ["--loopback"] if plan.loopback else ["--nics", str(NICS)]
    _check_settings(lab, note)
    trainings = _train(plan, lab, ["alone"], min(plan.steps, _STEPS_ALONE), _ALONE_TIMEOUT_S, show, note)
    alone = trainings["alone"]
    rate_mbit = 0
    if not (plan.loopback or reasons):
        seconds = plan.ratio * alone.step_s
        rate_mbit = max(_LEAST_RATE_MBIT, rail_mbit(_bytes_received(alone.parameters), seconds, NICS))
        lab += ["--rate", f"{rate_mbit}mbit"]
    patience_s = 60 + plan.steps * alone.step_s * (2 + 4 * plan.ratio)
    trainings |= _train(plan, lab, [v for v in TITLES if v != "alone"], plan.steps, patience_s, show, note)
    return Outcome(trainings, rate_mbit, plan.loopback or bool(reasons), len(os.sched_getaffinity(0)))
