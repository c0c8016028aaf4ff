"""What tests of the starters of deploy/ share: the script that a starter runs, its environment, and its result."""

from __future__ import annotations

import os
import socket
import sys
import unittest
from pathlib import Path

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
SCRIPT = [str(DEPLOY / "train.py"), "--steps", "20"]
_BEGINNING = "2 ranks on cpu, 20 steps, loss "
_PROGRAMS = str(Path(sys.executable).parent)  # has torchrun, and an mpirun that is not Open MPI's
_OF_A_STARTER = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def environment(path: str = "", **more: str) -> dict[str, str]:
    """Returns an environment without any starter's variables. `path`: folders of more programs."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("OMPI_", "SLURM_", "PET_", "RAILWEAVE_", "NCCL_")) and name not in _OF_A_STARTER}
    return {**kept, "PATH": os.pathsep.join(filter(None, (path, kept["PATH"], _PROGRAMS))), "RAILWEAVE_RAILS": "lo",
            "CUDA_VISIBLE_DEVICES": "", "PET_LOCAL_ADDR": "127.0.0.1", **more}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


class StarterTest(unittest.TestCase):
    def assert_trained(self, output: str, errors: str) -> None:
        self.assertEqual(output.count(_BEGINNING), 1, f"{output}\n{errors}")
        self.assertIn("parameters differ by 0\n", output)
        self.assertLess(float(output.split("loss ")[1].split(",")[0]), 1.0, "the loss did not fall")
