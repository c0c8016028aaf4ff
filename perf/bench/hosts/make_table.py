#!/usr/bin/env python3
"""Writes perf/real_hosts.json, the table that perf/acceptance.json refers to, one row a line.

    perf/bench/hosts/make_table.py > perf/real_hosts.json"""
from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.dont_write_bytecode = True

from bench.hosts import bad_rails, rows  # noqa: E402


def table() -> dict[str, list[dict]]:
    cells = rows.chosen()
    return {"no_fault": list({cell.name: rows.without_fault(cell) for cell in cells}.values()),
            "faults": [rows.row(cell, number) for number, cell in enumerate(cells)],
            "failed_before": rows.failed_before(), "bad_rails": bad_rails.rows()}


def text() -> str:
    parts = [f' "{name}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in found) + "\n ]"
             for name, found in table().items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    sys.stdout.write(text())
