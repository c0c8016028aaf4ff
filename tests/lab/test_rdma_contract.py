"""The contract suite of wires over RDMA in software: two rxe devices, joined by a cable, in a VM."""
from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

import support

_PAIR = str(support.kPerf / "lab" / "vm" / "guest" / "rdma_pair")
_RELEASE = support.kPerf.parent / "build" / "release" / "bin"
_BIN = Path(sys.argv.pop(1)) if len(sys.argv) > 1 and Path(sys.argv[1]).is_dir() else _RELEASE
_VM_LIMIT_S = 240


class Contract(unittest.TestCase):
    def test_verbs_keep_the_promises_of_a_wire(self) -> None:
        command = [sys.executable, support.kVm, "run", "--steady-clock", "--seconds", str(_VM_LIMIT_S), _PAIR, "--",
                   "env", "RAILWEAVE_TEST_RDMA=v0,v1", str(_BIN / "contract"), "--gtest_filter=*/verbs",
                   "--gtest_brief=1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_VM_LIMIT_S + 60, check=False)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        passed = re.search(r"PASSED  \] (\d+) tests", done.stdout)
        self.assertTrue(passed and int(passed[1]) > 30, done.stdout + done.stderr)
        print(f"{passed[1]} tests", end=" ... ", flush=True)


if __name__ == "__main__":
    support.main_with_vm()
