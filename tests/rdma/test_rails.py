"""Faults of rails in mid-transfer over RDMA, ten of each kind (guest/fault_battery.py): no request fails, no byte is
wrong, and each rail carries by RDMA again."""
from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import rdma_lab
from rdma_lab import RdmaTest, kBin, kPython, kSeed

_BATTERY = Path(__file__).resolve().with_name("guest") / "fault_battery.py"
_TRIALS = 10
_KINDS = ("link", "gid", "device", "loss", "turns")
_LIMIT_S = 5000
# The rate leaves the emulated core time for the faults. Without IPv6 the rail has one GID, and no link-local one to
# fall back on.
_OPTIONS = ("--rate", "30mbit", "--disable-ipv6", "--management")


class Rails(RdmaTest):
    def test_lost_and_back(self) -> None:
        done = self.in_lab("env", "RAILWEAVE_WIRES=verbs", kPython, "-B", str(_BATTERY), "--kinds", ",".join(_KINDS),
                           "--trials", str(_TRIALS), "--seed", str(kSeed), "--programs", str(kBin),
                           "--json", "/vmout/found.json", lab=_OPTIONS, limit_s=_LIMIT_S)
        found = json.loads(done.text("found.json"))
        lines = [f"rails: {found['transfers']} transfers, {found['bytes_checked'] / 1e9:.2f} GB, 0 errors, 0 wrong "
                 f"bytes; seed {kSeed} ({done.circumstances})"]
        for kind in _KINDS:
            trials = [trial for trial in found["trials"] if trial["kind"] == kind]
            self.assertEqual(_TRIALS * (2 if kind == "turns" else 1), len(trials), done.said)
            gone, back = ([trial[name] for trial in trials] for name in ("gone_s", "back_s"))
            lost = sum(trial["packets_lost"] for trial in trials)
            lines.append(f"  {found['what'][kind]}: {len(trials)} times; "
                         + (f"{lost} packets lost" if lost else f"lanes gone after {max(gone):.1f} s at most")
                         + f"; by verbs again after {median(back):.1f} s (median), {max(back):.1f} s at most; "
                         f"{sum(trial['lanes_lost'] for trial in trials)} lane ends lost")
        rdma_lab.note("rails", "\n".join(lines))


if __name__ == "__main__":
    rdma_lab.main()
