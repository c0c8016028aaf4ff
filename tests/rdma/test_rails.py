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
# The rate leaves the emulated core time for the faults, and a ring of blocks takes less time than rxe's retransmission
# timeout (0.5 s). A shaper at the host would drop packets of rxe, which ends the queue pair; a switch drops none here.
# Without IPv6 the rail has one GID, and no link-local one to
# fall back on.
_OPTIONS = ("--rate", "22mbit", "--shape", "switch", "--disable-ipv6", "--management")


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
            lines.append(f"  {_line(found['what'][kind], trials)}")
        rdma_lab.note("rails", "\n".join(lines))


def _line(what: str, trials: list[dict]) -> str:
    gone, back = [t["gone_s"] for t in trials if t["gone_s"] is not None], [t["back_s"] for t in trials]
    packets, ends = (sum(trial[name] for trial in trials) for name in ("packets_lost", "lanes_lost"))
    seen = f"lanes gone after {max(gone):.1f} s at most" if gone else f"{packets} packets lost"
    brief = sum(trial["gone_s"] is None and not trial["packets_lost"] for trial in trials)
    return (f"{what}: {len(trials)} faults, {brief} of them brief; {seen}; {ends} lane ends lost; carried by verbs "
            f"{median(back):.1f} s after the fault (median), {max(back):.1f} s at most")


if __name__ == "__main__":
    rdma_lab.main()
