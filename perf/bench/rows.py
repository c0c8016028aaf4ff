"""Cases that a table makes, one for each row. In a case of acceptance.json `rows` names a list of perf/real_hosts.json
or is the list itself, and "$rails" in its words and formulas means the row's "rails". The row's own "lab" options
follow the case's. Pure but for reading the table."""
from __future__ import annotations

import json
from pathlib import Path
from string import Template
from typing import Any

kTable = Path(__file__).resolve().parent.parent / "real_hosts.json"


def load(path: Path = kTable) -> dict[str, list[dict]]:
    """Reads the table. Raises OSError, ValueError."""
    return json.loads(path.read_text())


def expanded(entry: dict, table: dict[str, list[dict]]) -> list[dict]:
    """Returns the entry itself, or one for each row with the row as "row". Raises KeyError for a list or a word that
    the table lacks."""
    if "rows" not in entry:
        return [entry]
    rows = entry["rows"]
    return [_of_row(entry, row) for row in (table[rows] if isinstance(rows, str) else rows)]


def _of_row(entry: dict, row: dict) -> dict:
    made = {key: _filled(value, row) if key in ("what", "sides", "yardstick", "checks") else value
            for key, value in entry.items()}
    return {**made, "case": row["name"], "lab": [*entry["lab"], *row["lab"]], "row": row}


def _filled(value: Any, row: dict) -> Any:
    if isinstance(value, str):
        return Template(value).substitute(row)
    if isinstance(value, list):
        return [_filled(part, row) for part in value]
    return {key: _filled(part, row) for key, part in value.items()} if isinstance(value, dict) else value
