"""Steps in one lab, also where the machine refuses namespaces: the caller is told, and steps for an absent NIC are
skipped."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support
from lab.steps import NoNamespaces, in_lab

_WITHOUT_PRIVILEGE = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
_WRITES = ["sh", "-c", 'echo "\\"$NCCL_SOCKET_IFNAME\\"" > "$1"']  # $0 is --json, $1 the file


def _step(name: str, **more: object) -> dict:
    return {"name": name, "argv": _WRITES, "before": [], "after": [], "timeout_s": 20, **more}


def _run(folder: Path, options: list[str], **more: object) -> tuple[int, str, list[str]]:
    """Returns the status, the lab's output and the steps that were shown."""
    plan = folder / "steps.json"
    plan.write_text(json.dumps({"steps": [_step("any"), _step("one", only_nic="eth1")]}))
    shown: list[str] = []
    return *in_lab(options, plan, shown.append, **more), shown


class OverLoopback(unittest.TestCase):
    def test_a_step_for_a_nic_is_left_out(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            status, said, shown = _run(Path(name), ["--loopback"])
            self.assertEqual((status, shown), (0, ["any"]), said)
            self.assertEqual(json.loads((Path(name) / "any.json").read_text()), "=lo")

    @unittest.skipUnless(shutil.which("setpriv") and os.geteuid() == 0, "drops a privilege that is not there")
    def test_a_lab_that_falls_back_says_so(self) -> None:
        again = [*_WITHOUT_PRIVILEGE, sys.executable, "-B", __file__, "--without-privilege"]
        done = subprocess.run(again, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        said = json.loads(done.stdout)
        self.assertIn("no network namespaces here", said["refused"])
        self.assertEqual(said["accepted"][1:], [0, ["any"]])
        self.assertIn("no network namespaces here", said["accepted"][0])


class InALab(unittest.TestCase):
    def test_a_step_for_a_nic_sees_that_one_only(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            status, said, shown = _run(Path(name), ["--nics", "2"])
            self.assertEqual((status, shown), (0, ["any", "one"]), said)
            self.assertEqual(json.loads((Path(name) / "one.json").read_text()), "=eth1")


def _without_privilege() -> None:
    with tempfile.TemporaryDirectory() as name:
        reasons: list[str] = []
        status, _, shown = _run(Path(name), [], fell_back=reasons.append)
        try:
            _run(Path(name), [])
            refused = "not at all"
        except NoNamespaces as reason:
            refused = str(reason)
    print(json.dumps({"refused": refused, "accepted": [" ".join(reasons), status, shown]}))


if __name__ == "__main__":
    _without_privilege() if "--without-privilege" in sys.argv else support.main()
