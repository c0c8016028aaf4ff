"""The starter of deploy/slurm, on a Slurm cluster of two nodes on this machine. Skipped where Slurm is missing."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

from slurm_cluster import SlurmCluster, why_not
from starter import DEPLOY, SCRIPT, StarterTest, environment

_SKIPPED = 77


class Slurm(StarterTest):
    def test_a_job_of_two_nodes_and_a_script_that_fails(self) -> None:
        with tempfile.TemporaryDirectory() as name, SlurmCluster(Path(name)) as slurm:
            log = Path(name) / "job.log"
            end = slurm.run_job(f"--output={log}", str(DEPLOY / "slurm" / "train.sbatch"), *SCRIPT,
                                environment=environment(path=slurm.programs, FIRST_HOST="127.0.0.1"))
            output = log.read_text() if log.exists() else ""
            self.assertEqual("COMPLETED 0:0", end, output)
            self.assert_trained(output, end)
            end = slurm.run_job(f"--output={log}", str(DEPLOY / "slurm" / "train.sbatch"), SCRIPT[0], "--steps", "many",
                                environment=environment(path=slurm.programs, FIRST_HOST="127.0.0.1"))
            self.assertRegex(end, "^FAILED [1-9]", log.read_text())


if __name__ == "__main__":
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(_SKIPPED)
    unittest.main()
