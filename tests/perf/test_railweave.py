#!/usr/bin/env python3
"""The program railweave, as a user runs it: subcommands, their output and exit status."""

from __future__ import annotations

import argparse
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ARGS = None
LOOPBACK = {"RAILWEAVE_RAILS": "lo"}


def run(*words: str, program: Path | None = None, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(program or ARGS.program), *words], env={**os.environ, **settings}, capture_output=True,
                          text=True, timeout=60, check=False)


class CommandLine(unittest.TestCase):
    def test_wrong_usage_ends_with_64(self) -> None:
        for words in ([], ["nothing"], ["info", "--pid", "0"], ["info", "--pid"], ["top", "--interval", "nan"],
                      ["top", "--frames", "-1"], ["path", "extra"], ["deploy"], ["deploy", "apply"]):
            with self.subTest(words):
                done = run(*words)
                self.assertEqual((done.returncode, done.stdout), (64, ""), done.stderr)
                self.assertIn("--help", done.stderr)

    def test_help_and_version(self) -> None:
        self.assertRegex(run("--version").stdout, r"^railweave \d+\.\d+\.\d+\n$")
        for words in (["--help"], *([name, "--help"] for name in ("info", "top", "path", "deploy"))):
            done = run(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("Exit status: 0; 1", done.stdout)


class Info(unittest.TestCase):
    def test_this_host(self) -> None:
        done = run("info", "--json", **LOOPBACK)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([rail["name"] for rail in json.loads(done.stdout)["rails"]], ["lo"])

    def test_errors_are_status_1_and_name_the_subcommand(self) -> None:
        for words, settings, named in ((["info"], {"RAILWEAVE_RAILS": "nosuch0"}, "nosuch0"),
                                       (["info", "--pid", "1"], {}, "process 1"),
                                       (["top", "--pid", "1"], {}, "process 1"),
                                       (["top"], {"RAILWEAVE_THREADS": "many"}, "RAILWEAVE_THREADS")):
            with self.subTest(words, **settings), tempfile.TemporaryDirectory() as folder:
                done = run(*words, RAILWEAVE_STATS_DIR=folder, **settings)
                self.assertEqual(done.returncode, 1)
                self.assertTrue(done.stderr.startswith(f"railweave {words[0]}: "), done.stderr)
                self.assertIn(named, done.stderr)


class Path_(unittest.TestCase):
    def test_prints_the_plugin_beside_the_program(self) -> None:
        done = run("path")
        self.assertEqual((done.returncode, done.stdout), (0, f"{ARGS.plugin.resolve()}\n"), done.stderr)

    def test_knows_the_layouts_of_packages(self) -> None:
        triplet = f"{os.uname().machine}-linux-gnu"
        for folder in ("lib", f"lib/{triplet}"):
            with self.subTest(folder), tempfile.TemporaryDirectory() as root:
                program = Path(root) / "bin" / "railweave"
                plugin = Path(root) / folder / "libnccl-net-railweave.so"
                program.parent.mkdir()
                plugin.parent.mkdir(parents=True)
                shutil.copy(ARGS.program, program)
                done = run("path", program=program)
                self.assertEqual(done.returncode, 1)
                self.assertIn(f"{root}/lib/{triplet}", done.stderr)
                plugin.touch()
                self.assertEqual(run("path", program=program).stdout, f"{plugin}\n")


class Top(unittest.TestCase):
    def test_prints_as_many_frames_as_asked(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            common = ["top", "--stats-dir", folder, "--interval", "0.05", "--frames", "2"]
            self.assertEqual(run(*common, "--json").stdout, '{"engines":[]}\n' * 2)
            self.assertEqual(run(*common).stdout.count("No process with an engine"), 2)

    def test_a_signal_ends_it_and_the_terminal_is_restored(self) -> None:
        primary, secondary = pty.openpty()
        with tempfile.TemporaryDirectory() as folder, os.fdopen(primary, "rb", buffering=0) as terminal:
            running = subprocess.Popen([str(ARGS.program), "top", "--stats-dir", folder, "--interval", "0.05"],
                                       stdout=secondary, stderr=secondary)
            os.close(secondary)
            shown = b""
            while shown.count(b"No process with an engine") < 2:
                shown += terminal.read(4096)
            running.send_signal(signal.SIGINT)
            self.assertEqual(running.wait(30), 0)
            try:
                while more := terminal.read(4096):
                    shown += more
            except OSError:  # Linux's end of a terminal without a process
                pass
        self.assertTrue(shown.startswith(b"\x1b[?1049h"))
        self.assertTrue(shown.endswith(b"\x1b[?1049l"))
        self.assertIn(b"Ctrl-C ends", shown)

    def test_a_closed_pipe_ends_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with subprocess.Popen([str(ARGS.program), "top", "--stats-dir", folder, "--interval", "0.05"],
                                  stdout=subprocess.PIPE) as running:
                self.assertIn(b"No process with an engine", running.stdout.readline())
                running.stdout.close()
                self.assertNotEqual(running.wait(30), 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True, help="the program railweave")
    parser.add_argument("--plugin", type=Path, required=True, help="the NCCL plugin beside the program")
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
