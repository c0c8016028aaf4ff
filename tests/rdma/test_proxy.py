"""NCCL's proxy, played over RDMA: each version of the net and each scenario of tests/nccl, between two hosts."""
from __future__ import annotations

import re

import rdma_lab
from rdma_lab import RdmaTest, kBin

_VERSIONS = range(6, 13)
_SCENARIOS = 8
_LIMIT_S = 1800


class Proxy(RdmaTest):
    def test_every_version_and_scenario(self) -> None:
        done = self.in_lab("env", "RAILWEAVE_WIRES=verbs", str(kBin / "nccl_tests"), "--job", "--wire", "verbs",
                           limit_s=_LIMIT_S)
        for version in _VERSIONS:
            played = re.findall(rf"^\[host0\] ok v{version} \w+$", done.said, re.MULTILINE)
            self.assertGreaterEqual(len(played), _SCENARIOS, done.said)
        lanes = [int(count) for count in re.findall(r"^\[host\d\] (\d+) lanes by verbs$", done.said, re.MULTILINE)]
        self.assertEqual(2, len(lanes), done.said)
        rdma_lab.note("proxy", f"proxy: v{_VERSIONS[0]} to v{_VERSIONS[-1]}, {len(played)} scenarios each, "
                      f"{min(lanes)} lanes, all by verbs ({done.circumstances})")


if __name__ == "__main__":
    rdma_lab.main()
