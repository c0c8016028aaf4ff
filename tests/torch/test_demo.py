"""The demo: it trains, writes its files, fails if losses differ, and names wrong settings."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import railweave

_ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_ROOT / "perf"))

from demo.outcome import Outcome  # noqa: E402


def _outcome(**losses: list[float]) -> Outcome:
    return Outcome({name: SimpleNamespace(losses=each) for name, each in losses.items()}, 0, True, 2)


class DemoTest(unittest.TestCase):
    def test_losses_that_differ_are_told(self) -> None:
        same = [5.0, 4.5]
        self.assertEqual("", _outcome(gloo=[5.0, 4.5 + 1e-6], railweave=same, overlap=same).disagreement)
        self.assertIn("step 2", _outcome(gloo=[5.0, 4.6], railweave=same, overlap=same).disagreement)
        self.assertIn("with and without overlap",
                      _outcome(gloo=same, railweave=same, overlap=[5.0, 4.5 + 1e-12]).disagreement)

    def test_it_trains_and_leaves_its_files(self) -> None:
        package = Path(railweave.__file__).resolve().parents[1]
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, str(_ROOT / "tools" / "demo"),
                                   "--quick", "--loopback", "--package", str(package), "--out", folder],
                                  capture_output=True, text=True, timeout=280, check=False)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            found = json.loads((Path(folder) / "demo.json").read_text())
            self.assertEqual({"alone", "gloo", "railweave", "overlap"}, set(found["trainings"]))
            self.assertEqual(b"\x89PNG", (Path(folder) / "demo.png").read_bytes()[:4])
        self.assertIn("step 5 of 5", done.stdout)

    def test_a_setting_that_is_wrong_is_named_before_anything_trains(self) -> None:
        package = Path(railweave.__file__).resolve().parents[1]
        done = subprocess.run([sys.executable, str(_ROOT / "tools" / "demo"),
                               "--quick", "--loopback", "--package", str(package)],
                              env={**os.environ, "RAILWEAVE_SCHEDULE": "foo"}, capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(1, done.returncode)
        self.assertIn("RAILWEAVE_SCHEDULE: found 'foo'", done.stderr)
        self.assertNotIn("step 1", done.stdout)

    def test_a_bad_ratio_is_named(self) -> None:
        package = Path(railweave.__file__).resolve().parents[1]
        done = subprocess.run([sys.executable, str(_ROOT / "tools" / "demo"), "--ratio", "0",
                               "--package", str(package)], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(2, done.returncode)
        self.assertIn("--ratio: expected 0.05 to 10, found 0", done.stderr)

    def test_an_unwritable_folder_is_named_before_anything_runs(self) -> None:
        package = Path(railweave.__file__).resolve().parents[1]
        done = subprocess.run([sys.executable, str(_ROOT / "tools" / "demo"), "--package", str(package),
                               "--out", "/proc/self"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertRegex(done.stderr, "^demo: --out: cannot write to /proc/[0-9]+: .*\n$")


if __name__ == "__main__":
    unittest.main()
