#!/usr/bin/env python3
"""`railweave deploy render`, as a user runs it. deploy/kubernetes has what it prints; --write writes that anew."""

from __future__ import annotations

import argparse
import subprocess
import sys
import unittest
from pathlib import Path

ARGS = None
COMMITTED = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
KINDS = ("pod", "trainjob", "pytorchjob", "mpijob")
VIAS = ("dra", "multus", "sriov")


def render(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(ARGS.program), "deploy", "render", *words], capture_output=True, text=True, timeout=60,
                          check=False)


def committed_files() -> dict[str, str]:
    """Returns what deploy/kubernetes should hold, by the names of the files."""
    return {f"{kind}-{via}.yaml": render("--nics", "2", "--via", via, "--kind", kind).stdout
            for kind in KINDS for via in VIAS}


class Render(unittest.TestCase):
    def test_the_committed_manifests_are_its_output(self) -> None:
        files = committed_files()
        self.assertEqual(sorted(files), sorted(path.name for path in COMMITTED.iterdir()))
        for name, text in files.items():
            with self.subTest(name):
                self.assertEqual((COMMITTED / name).read_text(), text,
                                 f"run {Path(__file__).name} --program {ARGS.program} --write")

    def test_two_runs_print_the_same(self) -> None:
        words = ("--via", "sriov", "--nics", "8", "--kind", "mpijob", "--gpus", "8")
        self.assertEqual(render(*words).stdout, render(*words).stdout)

    def test_a_command_behind_two_dashes_is_the_ranks(self) -> None:
        done = render("--via", "dra", "--", "train.py", "--lr", "1e-3", "on")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('        - train.py\n        - "--lr"\n        - "1e-3"\n        - "on"\n', done.stdout)

    def test_wrong_usage_ends_with_64_and_prints_no_manifest(self) -> None:
        for words in ([], ["--via", "cni"], ["--via", "0"], ["--via", "dra", "--kubernetes", "34"],
                      ["--via", "dra", "--nics", "0"], ["--via", "dra", "--nics", "two"],
                      ["--via", "dra", "--kubernetes", "1.32"], ["--via", "dra", "--kind", "job"],
                      ["--via", "dra", "--name", "Big"], ["--via", "dra", "--name", "a\n- b"],
                      ["--via", "dra", "--interfaces", "eth1,eth2"], ["--via", "multus", "--subnets", "10.0.0.0/24"],
                      ["--via", "dra", "stray\x1b[0m"]):
            with self.subTest(words):
                done = render(*words)
                self.assertEqual((done.returncode, done.stdout), (64, ""), done.stderr)
                self.assertNotIn("\x1b", done.stderr)

    def test_lists_have_commas(self) -> None:
        done = render("--via", "multus", "--nics", "3", "--interfaces", "ens1,ens2,ens3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([f'"master": "ens{nic}"' in done.stdout for nic in (1, 2, 3)], [True] * 3)


def write() -> None:
    COMMITTED.mkdir(parents=True, exist_ok=True)
    for name, text in committed_files().items():
        (COMMITTED / name).write_text(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True, help="the program railweave")
    parser.add_argument("--write", action="store_true", help="write deploy/kubernetes and run no test")
    ARGS, rest = parser.parse_known_args()
    if ARGS.write:
        write()
    else:
        unittest.main(argv=[sys.argv[0], *rest])
