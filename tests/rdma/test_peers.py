"""A peer that is killed in mid-transfer over RDMA: the survivor gets an error at once, and the error names the peer."""
from __future__ import annotations

import json

import rdma_lab
from rdma_lab import RdmaTest, kBin, kPython, kSeed
from support import kPerf

_PROGRAM = kPerf / "bench" / "faults" / "peer_loss_perf.py"
_TRIALS = 10
_SOON_S = 3.0  # 0.1 s is promised, for a host that is not emulated
_LIMIT_S = 1800


class Peers(RdmaTest):
    def test_killed(self) -> None:
        done = self.in_lab("env", "RAILWEAVE_WIRES=verbs", kPython, "-B", str(_PROGRAM), "--kind", "kill", "--trials",
                           str(_TRIALS), "--seed", str(kSeed), "--programs", str(kBin), "--json", "/vmout/found.json",
                           lab=("--nics", "3", "--rate", "30mbit", "--shape", "switch"), limit_s=_LIMIT_S)
        summary = json.loads(done.text("found.json"))["summary"]
        self.assertEqual((_TRIALS, _TRIALS, 0, 0), tuple(summary[name] for name in ("trials", "errors", "wrong",
                                                                                    "unnamed")), done.said)
        self.assertLess(summary["error_worst_s"], _SOON_S, done.said)
        rdma_lab.note("peers", f"peers: killed {_TRIALS} times, each time an error that names host and pid, after "
                      f"{summary['error_median_s']:.2f} s (median), {summary['error_worst_s']:.2f} s at most; "
                      f"seed {kSeed} ({done.circumstances})")


if __name__ == "__main__":
    rdma_lab.main()
