#!/usr/bin/env python3
"""A real torchrun starts the collective programs. Skipped with a message if torch is not in .venv."""

import argparse
import os
import socket
import subprocess
import sys
import unittest
from pathlib import Path

ARGS = None
SKIP = 77
TORCHRUN = Path(__file__).resolve().parents[2] / ".venv" / "bin" / "torchrun"


def torchrun(*words):
    kept = {name: value for name, value in os.environ.items()
            if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
            and not name.startswith("OMPI_")}
    return subprocess.run([str(TORCHRUN), "--no-python", *words], capture_output=True, text=True, timeout=100,
                          check=False, env={**kept, "NCCL_SOCKET_IFNAME": "lo"})


def free_port():
    """Returns a free port for torchrun's own store. The port two higher is free, too: there the ranks meet."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 2))
            except (OSError, OverflowError):
                continue
            return port


class Torchrun(unittest.TestCase):
    def started(self, *words):
        done = torchrun(*words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("#  Rank"), 3, done.stdout)
        self.assertEqual(done.stdout.count("# Collective test concluded"), 1, done.stdout)
        self.assertIn("# Out of bounds values : 0 OK", done.stdout)

    def test_at_a_place_it_chooses(self):
        program = str(ARGS.bin / "all_gather_perf")
        self.started("--standalone", "--nproc-per-node", "3", program, "-b", "48K", "-e", "48K", "-n", "2")

    def test_at_a_place_it_is_told(self):
        place = ["--master-addr", "127.0.0.1", "--master-port", str(free_port())]
        program = str(ARGS.bin / "all_reduce_perf")
        self.started(*place, "--nproc-per-node", "3", program, "-b", "48K", "-e", "48K", "-n", "2")

    def test_what_the_ranks_refuse_it_reports(self):
        done = torchrun("--standalone", "--nproc-per-node", "2", str(ARGS.bin / "reduce_perf"), "-G", "1")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--cudagraph", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, required=True, help="where the programs are")
    ARGS, rest = parser.parse_known_args()
    if not TORCHRUN.exists():
        print("skipped: torch is not in .venv (tools/setup torch)")
        sys.exit(SKIP)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
