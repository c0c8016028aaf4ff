"""One case from lab to verdict: runs all sides alternately, takes the values, their medians and the checks.

Repeats runs in which the machine's host took too much of the cores. The calmest runs of each side count. Runs are
chosen by the stolen time and never by their results."""
from __future__ import annotations

import json
import os
import re
import secrets
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Callable, Iterable

from lab.steps import TAIL_CHARS, NoNamespaces, in_lab, tails

from . import host, pooled
from .acceptance import Case, Check
from .formula import FormulaError, evaluate, holds, names_in
from .programs import command, missing, missing_file
from .values import OF_PAIRS, NoValue, Sized, median, of_pairs, take, without_series

kRoot = Path(__file__).resolve().parents[2]
_MOST_RUNS = 3  # times the requested runs
_PATIENCE_S = 60.0  # for a calm host, before each lab
_FAILED_STEP = re.compile(r"(\S+): rank \d+ (?:ended with status|is alone)")  # in the words of lab.steps


@dataclass
class Outcome:
    """verdict: PASS, FAIL or SKIP. `reason`: why not PASS."""

    case: Case
    verdict: str
    reason: str = ""
    # Name to {"median", "samples"}, each a number or by size; for pairs also OF_PAIRS.
    values: dict[str, dict] = field(default_factory=dict)
    checks: list[dict] = field(default_factory=list)
    raw: dict[str, list] = field(default_factory=dict)  # side to the programs' own JSON, run by run
    stolen: dict[str, list[float]] = field(default_factory=dict)  # side to the share of the cores that the host took,
                                                                  # run by run
    counted: dict[str, list[int]] = field(default_factory=dict)  # side to the numbers of the runs that `values` use
    left_out: dict[str, str] = field(default_factory=dict)  # optional side to why it was not measured


def _environment(side: dict, key: Path) -> dict[str, str]:
    return side.get("environment", {}) | ({"RAILWEAVE_KEY_FILE": str(key)} if side.get("key") else {})


def steps(case: Case, programs: Path, runs: dict[str, range], key: Path) -> list[dict]:
    """Returns the steps in alternation (ours, raw, ours, raw), so that other load on the machine affects both sides.
    `runs`: side to the numbers of the runs to make. `key`: the key file for sides that have a key."""
    made = []
    for turn in range(max(map(len, runs.values()))):
        for side in (side for side in case.sides if turn < len(runs[side])):
            spec = case.sides[side]
            made.append({"name": f"{side}-{runs[side][turn]}",
                         "argv": command(spec["argv"], programs, _environment(spec, key)),
                         "before": spec.get("before", []), "after": spec.get("after", []), "timeout_s": case.timeout_s,
                         "ranks": spec.get("ranks", 0)})
    return made


def _missing_of(side: dict, case: Case, programs: Path) -> str | None:
    return missing(side["argv"][0], programs, case.build) or missing_file(side.get("environment", {}))


def without_missing(case: Case, programs: Path) -> tuple[Case, dict[str, str]]:
    """Leaves out optional sides whose programs are missing, with their values and the checks that need these. Returns
    the rest, and side to the reason."""
    left_out = {name: reason for name, side in case.sides.items()
                if side.get("optional") and (reason := _missing_of(side, case, programs))}
    values = {name: spec for name, spec in case.values.items()
              if not {spec["side"], spec.get("over")} & left_out.keys()}
    gone = {name for value in case.values.keys() - values.keys()
            for name in (value, *(f"{value}_{end}" for end in OF_PAIRS))}
    return replace(case, sides={name: side for name, side in case.sides.items() if name not in left_out},
                   values=values, checks=[check for check in case.checks if not names_in(check.formula) & gone],
                   skips=[check for check in case.skips if not names_in(check.formula) & gone]), left_out


def _missing(case: Case, programs: Path) -> str | None:
    for side in case.sides.values():
        if reason := _missing_of(side, case, programs):
            return reason
    if "--loopback" not in case.lab and os.geteuid() != 0:
        return "no privilege for network namespaces"
    return None


def _logs(folder: Path, said: str) -> str:
    """Returns the logs of all ranks of the failed steps, or of every step if the lab does not name them. Removes the
    other logs."""
    failed = set(_FAILED_STEP.findall(said))
    for log in folder.glob("*.log") if failed else []:
        if log.name.partition(".")[0] not in failed:
            log.unlink()
    return tails(folder)


def _collect(runs: dict[str, int], folder: Path) -> dict[str, list]:
    return {side: [json.loads((folder / f"{side}-{number}.json").read_text()) for number in range(count)]
            for side, count in runs.items()}


class _Stolen:
    """Records the host's share in each run, from the moments at which steps begin."""

    def __init__(self, sides: Iterable[str], show: Callable[[str], None]) -> None:
        self.by_side: dict[str, list[float]] = {side: [] for side in sides}
        self._show, self._side, self._before = show, None, host.Cores.now()

    def begin(self, step: str) -> None:
        self.end()
        self._side = step.rpartition("-")[0]
        self._show(step)

    def end(self) -> None:
        """Ends the record of the current step."""
        now = host.Cores.now()
        if self._side is not None:
            self.by_side[self._side].append(round(now.stolen_since(self._before), 3))
        self._side, self._before = None, now

    def missing(self, runs: int) -> dict[str, range]:
        """Returns side to the numbers of the runs still to make, so that `runs` of them are calm."""
        due = {}
        for side, stolen in self.by_side.items():
            calm = sum(share <= host.kCalm for share in stolen)
            due[side] = range(len(stolen), min(len(stolen) + runs - calm, _MOST_RUNS * runs))
        return due


def calmest(stolen: list[float], runs: int) -> list[int]:
    """Returns the numbers of the runs with the least stolen time, in order. Prefers earlier ones."""
    return sorted(sorted(range(len(stolen)), key=lambda number: stolen[number])[:runs])


def _in_labs(case: Case, programs: Path, runs: int, folder: Path, stolen: _Stolen) -> tuple[int, str]:
    """Runs until `runs` of each side were calm, or _MOST_RUNS times as many were made. Returns a failed lab's status
    and output, or 0. Raises NoNamespaces."""
    key = folder / "key"
    key.touch(mode=0o600)
    key.write_text(secrets.token_hex())
    while any((due := stolen.missing(runs)).values()):
        host.wait_until_calm(_PATIENCE_S)
        made = steps(case, programs, due, key)
        plan = folder / "steps.json"
        plan.write_text(json.dumps({"steps": made}))
        status, said = in_lab([*case.lab, "--timeout", str(30 + len(made) * case.timeout_s)], plan, stolen.begin)
        stolen.end()
        if status != 0:
            return status, said
    return 0, ""


def _at_size(medians: dict[str, float | Sized], size: int) -> dict[str, float]:
    """Returns the values of a formula's names at one size. Leaves out names without a figure at the size."""
    at = {name: value.get(str(size)) if isinstance(value, dict) else value for name, value in medians.items()}
    return {"size": float(size), **{name: value for name, value in at.items() if value is not None}}


def _check(check: Check, medians: dict[str, float | Sized]) -> dict:
    said = {"name": check.name, "formula": check.formula, "bound": check.bound, "yardstick": check.yardstick}
    if not check.sizes:
        value = evaluate(check.formula, medians)
        return {**said, "value": value, "ok": holds(value, check.bound)}
    by_size = {str(size): evaluate(check.formula, _at_size(medians, size)) for size in check.sizes}
    worst = max(by_size, key=by_size.get) if check.bound.startswith("<") else min(by_size, key=by_size.get)
    return {**said, "value": by_size[worst], "at": int(worst), "by_size": by_size,
            "ok": holds(by_size[worst], check.bound)}


def _value(spec: dict, raw: dict[str, list], counted: dict[str, list[int]]) -> dict:
    """Returns a value from the runs that count. A pair counts if both of its runs do. Raises NoValue."""
    sides = [spec["side"], spec["over"]] if "over" in spec else [spec["side"]]
    numbers = sorted(set.intersection(*(set(counted[side]) for side in sides)))
    samples = [[take(raw[side][number], spec) for number in numbers] for side in sides]
    return of_pairs(*samples) if "over" in spec else {"median": median(samples[0]), "samples": samples[0]}


def _judge(outcome: Outcome) -> None:
    figures = {name: value["median"] for name, value in outcome.values.items()}
    figures |= {f"{name}_{end}": value[end] for name, value in outcome.values.items()
                for end in OF_PAIRS if end in value}
    outcome.checks = [_check(check, figures) for check in outcome.case.checks]
    holding = [check for check in (_check(skip, figures) for skip in outcome.case.skips) if check["ok"]]
    if holding:
        outcome.verdict = "SKIP"
        outcome.reason = "; ".join(f"{check['name']}: {check['value']:.3f}, {check['bound']}" for check in holding)
        return
    failed = [check for check in outcome.checks if not check["ok"]]
    outcome.verdict = "FAIL" if failed else "PASS"
    outcome.reason = "; ".join(f"{'yardstick: ' if check['yardstick'] else ''}{check['name']} is {check['value']:.3f}"
                               f"{' at ' + str(check['at']) if 'at' in check else ''}, not {check['bound']}"
                               for check in failed)


def measure(case: Case, build: Path, runs: int, show: Callable[[str], None]) -> Outcome:
    """Measures one case. Never raises for a program's failure: a crash is a FAIL with the end of the output."""
    programs = (kRoot / "build" / case.build if case.build else build) / "bin"
    case, left_out = without_missing(case, programs)
    if reason := _missing(case, programs):
        return Outcome(case, "SKIP", reason, left_out=left_out)
    with tempfile.TemporaryDirectory(prefix="railweave-bench-") as name:
        folder = Path(name)
        stolen = _Stolen(case.sides, show)
        try:
            status, said = _in_labs(case, programs, runs, folder, stolen)
        except NoNamespaces as reason:
            return Outcome(case, "SKIP", str(reason).partition(": all ranks")[0])
        if status != 0:
            return Outcome(case, "FAIL", f"exit status {status}\n{said[-TAIL_CHARS:]}{_logs(folder, said)}",
                           left_out=left_out)
        counted = {side: calmest(shares, runs) for side, shares in stolen.by_side.items()}
        outcome = Outcome(case, "FAIL", stolen=stolen.by_side, counted=counted, left_out=left_out)
        try:
            raw = _collect({side: len(shares) for side, shares in stolen.by_side.items()}, folder)
            for value, spec in case.values.items():
                outcome.values[value] = _value(spec, raw, counted)
            outcome.raw = raw if case.keep_series else without_series(raw)
            _judge(outcome)
        except (NoValue, FormulaError, OSError, ValueError) as error:
            outcome.reason = f"{type(error).__name__}: {error}"
        return outcome


def pool(case: Case, others: list[Outcome]) -> Outcome:
    """Combines the runs of the other cases of its id. SKIP if none was measured."""
    outcome = Outcome(case, "FAIL")
    try:
        for name, spec in case.values.items():
            outcome.values[name] = pooled.value(spec, [(other.case.row, other.raw) for other in others])
        _judge(outcome)
    except NoValue as error:
        return Outcome(case, "SKIP", str(error))
    except FormulaError as error:
        outcome.reason = str(error)
    return outcome
