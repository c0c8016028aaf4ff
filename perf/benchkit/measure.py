"""One case from lab to verdict: run all sides in alternation, take the values, their medians, the checks."""
from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from labkit.steps import NoNamespaces, in_lab

from .acceptance import Case, Check
from .formula import FormulaError, evaluate, holds
from .programs import command, missing
from .values import NoValue, Sized, median, take, without_series

kRoot = Path(__file__).resolve().parents[2]
_TAIL_CHARS = 2000


@dataclass
class Outcome:
    """verdict: PASS, FAIL or SKIP; `reason` says why where it is not PASS."""

    case: Case
    verdict: str
    reason: str = ""
    values: dict[str, dict] = field(default_factory=dict)  # name to {"median", "samples"}, each a number or by size
    checks: list[dict] = field(default_factory=list)
    raw: dict[str, list] = field(default_factory=dict)  # side to the programs' own JSON, run by run


def steps(case: Case, programs: Path, runs: int) -> list[dict]:
    """Side by side: ours, raw, ours, raw, so that what the machine does meanwhile touches both."""
    made = []
    for run in range(runs):
        for side, spec in case.sides.items():
            made.append({"name": f"{side}-{run}", "argv": command(spec["argv"], programs), "before": spec.get("before", []),
                         "after": spec.get("after", []), "timeout_s": case.timeout_s, "ranks": spec.get("ranks", 0)})
    return made


def _missing(case: Case, programs: Path) -> str | None:
    for side in case.sides.values():
        if reason := missing(side["argv"][0], programs, case.build):
            return reason
    if "--loopback" not in case.lab and os.geteuid() != 0:
        return "no privilege for network namespaces"
    return None


def _logs(folder: Path) -> str:
    return "".join(f"--- {log.name}\n{log.read_text(errors='replace')[-_TAIL_CHARS:]}" for log in sorted(folder.glob("*.log"))
                   if log.stat().st_size and not (folder / f"{log.name.split('.')[0]}.json").exists())


def _collect(case: Case, folder: Path, runs: int) -> dict[str, list]:
    return {side: [json.loads((folder / f"{side}-{run}.json").read_text()) for run in range(runs)] for side in case.sides}


def _at_size(medians: dict[str, float | Sized], size: int) -> dict[str, float]:
    """What the names of a formula stand for at one size; those without a figure of it are left out."""
    at = {name: value.get(str(size)) if isinstance(value, dict) else value for name, value in medians.items()}
    return {"size": float(size), **{name: value for name, value in at.items() if value is not None}}


def _check(check: Check, medians: dict[str, float | Sized]) -> dict:
    said = {"name": check.name, "formula": check.formula, "bound": check.bound, "yardstick": check.yardstick}
    if not check.sizes:
        value = evaluate(check.formula, medians)
        return {**said, "value": value, "ok": holds(value, check.bound)}
    by_size = {str(size): evaluate(check.formula, _at_size(medians, size)) for size in check.sizes}
    worst = max(by_size, key=by_size.get) if check.bound.startswith("<") else min(by_size, key=by_size.get)
    return {**said, "value": by_size[worst], "at": int(worst), "by_size": by_size, "ok": holds(by_size[worst], check.bound)}


def _judge(outcome: Outcome) -> None:
    medians = {name: value["median"] for name, value in outcome.values.items()}
    outcome.checks = [_check(check, medians) for check in outcome.case.checks]
    failed = [check for check in outcome.checks if not check["ok"]]
    outcome.verdict = "FAIL" if failed else "PASS"
    outcome.reason = "; ".join(f"{'yardstick: ' if check['yardstick'] else ''}{check['name']} is {check['value']:.3f}"
                               f"{' at ' + str(check['at']) if 'at' in check else ''}, not {check['bound']}" for check in failed)


def measure(case: Case, build: Path, runs: int, show: Callable[[str], None]) -> Outcome:
    """Never raises for what the programs do: a crash is a FAIL with the end of their output."""
    programs = (kRoot / "build" / case.build if case.build else build) / "bin"
    if reason := _missing(case, programs):
        return Outcome(case, "SKIP", reason)
    with tempfile.TemporaryDirectory(prefix="railweave-bench-") as name:
        folder = Path(name)
        todo = steps(case, programs, runs)
        plan = folder / "steps.json"
        plan.write_text(json.dumps({"steps": todo}))
        options = [*case.lab, "--timeout", str(30 + len(todo) * case.timeout_s)]
        try:
            status, said = in_lab(options, plan, show)
        except NoNamespaces as reason:
            return Outcome(case, "SKIP", str(reason).partition(": all ranks")[0])
        if status != 0:
            return Outcome(case, "FAIL", f"exit status {status}\n{said[-_TAIL_CHARS:]}{_logs(folder)}")
        outcome = Outcome(case, "FAIL")
        try:
            raw = _collect(case, folder, runs)
            for value, spec in case.values.items():
                samples = [take(run, spec) for run in raw[spec["side"]]]
                outcome.values[value] = {"median": median(samples), "samples": samples}
            outcome.raw = raw if case.keep_series else without_series(raw)
            _judge(outcome)
        except (NoValue, FormulaError, OSError, ValueError) as error:
            outcome.reason = f"{type(error).__name__}: {error}"
        return outcome
