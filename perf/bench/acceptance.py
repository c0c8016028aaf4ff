"""Reads perf/acceptance.json. docs/internals/bench.md explains its keys."""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from . import pooled, rows
from .formula import evaluate, holds
from .sizes import parse_size
from .values import OF_PAIRS

kFile = Path(__file__).resolve().parent.parent / "acceptance.json"


@dataclass(frozen=True)
class Check:
    name: str
    formula: str
    bound: str
    yardstick: bool  # checks the raw figure; the other checks mean nothing if it fails
    sizes: tuple[int, ...] = ()  # sizes at which the formula must keep the bound; empty: the formula has no sizes


@dataclass(frozen=True)
class Case:
    id: str  # A1
    name: str  # 2x2/host
    what: str
    lab: list[str]  # options of `tools/lab run`
    # Name to {"argv", "environment", "optional", "key", "ranks", "before", "after"}. Sides run in this order,
    # alternately.
    sides: dict[str, dict]
    values: dict[str, dict]  # name to {"side", "path" | "by_size" | "rate_after_event_s"}, {"side", "over", "path"}
    checks: list[Check]
    runs: int
    timeout_s: float  # of one side of one run
    build: str | None  # preset of the programs; None: release
    keep_series: bool
    row: dict = field(default_factory=dict)  # row of the table that made the case; see rows.py
    is_pool: bool = False  # combines the other cases of its id; see pooled.py
    by_hand: bool = False  # measured only if named
    skips: list[Check] = field(default_factory=list)  # the case counts as skipped if one of these holds

    @property
    def full_name(self) -> str:
        return f"{self.id}/{self.name}"


def _powers(text: str | None) -> tuple[int, ...]:
    """Parses "8..4K": the least size and its multiples by powers of two up to the greatest. Raises ValueError."""
    if text is None:
        return ()
    least, greatest = (parse_size(part) for part in text.split(".."))
    if least < 1:
        raise ValueError(f"sizes '{text}': at least 1")
    return tuple(least << n for n in range(64) if least << n <= greatest)


def _case(entry: dict, defaults: dict) -> Case:
    read = {key: [Check(c["name"], c["formula"], c["bound"], key == "yardstick", _powers(c.get("sizes")))
                  for c in entry.get(key, [])]
            for key in ("yardstick", "checks", "skip")}
    case = Case(entry["id"], entry["case"], entry["what"], entry.get("lab", []), entry.get("sides", {}),
                entry["values"], read["yardstick"] + read["checks"], entry.get("runs", defaults["runs"]),
                entry.get("timeout_s", defaults["timeout_s"]), entry.get("build"), entry.get("keep_series", False),
                entry.get("row", {}), entry.get("pool", False), entry.get("by_hand", False), read["skip"])
    _validate(case)
    return case


def _validate(case: Case) -> None:
    """Finds a formula with an unknown value, or a value of an unknown side, before an hour of measuring."""
    for name, value in case.values.items():
        if case.is_pool:
            if value["take"] not in pooled.kTakes:
                raise ValueError(f"{case.full_name}: value '{name}': "
                                 f"'{value['take']}' is none of {', '.join(pooled.kTakes)}")
            continue
        for side in (value["side"], value.get("over", value["side"])):
            if side not in case.sides:
                raise ValueError(f"{case.full_name}: value '{name}' is of '{side}', which is no side")
        if "over" in value and "by_size" in value:
            raise ValueError(f"{case.full_name}: value '{name}': a figure of each size has no pairs")
    pairs = [f"{name}_{end}" for name, value in case.values.items() if "over" in value for end in OF_PAIRS]
    sized = {name for name, value in case.values.items() if "by_size" in value}
    for check in case.checks + case.skips:
        usable = ([name for name in case.values if check.sizes or name not in sized] + pairs
                  + (["size"] if check.sizes else []))
        evaluate(check.formula, {name: 1.0 + n / 8 for n, name in enumerate(usable)})
        holds(1.0, check.bound)


def load(path: Path = kFile) -> list[Case]:
    """Reads all cases. Raises ValueError, KeyError, OSError."""
    data, table = json.loads(path.read_text()), rows.load()
    return [_case(entry, data["defaults"]) for template in data["cases"] for entry in rows.expanded(template, table)]


def choose(cases: list[Case], wanted: list[str]) -> list[Case]:
    """Returns all cases of `A1`, the one case `A1/2x2/host`, or without a name all cases that are not by hand. Raises
    LookupError for an unknown name."""
    if not wanted:
        return [case for case in cases if not case.by_hand]
    for name in wanted:
        if not any(name in (case.id, case.full_name) or case.full_name.startswith(name + "/") for case in cases):
            ids = dict.fromkeys(case.id for case in cases)
            raise LookupError(f"no '{name}' in acceptance.json; it has {', '.join(ids)} "
                              "(--list names the cases of each)")
    return [case for case in cases
            if any(name in (case.id, case.full_name) or case.full_name.startswith(name + "/") for name in wanted)]
