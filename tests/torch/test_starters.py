"""The starters torchrun and Open MPI of deploy/, each on this machine with two ranks."""

from __future__ import annotations

import shutil
import subprocess
import sys
import unittest

from starter import DEPLOY, SCRIPT, StarterTest, environment, free_port


class Starters(StarterTest):
    def test_torchrun_on_each_of_two_hosts(self) -> None:
        words = [str(DEPLOY / "torchrun" / "train.sh"), "2", "1", f"127.0.0.1:{free_port()}", *SCRIPT]
        hosts = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
                 for _ in range(2)]
        output, errors = "", ""
        for host in hosts:
            try:
                said = host.communicate(timeout=90)
            except subprocess.TimeoutExpired:
                host.kill()
                said = host.communicate()
            output, errors = output + said[0], errors + said[1]
        self.assertEqual([host.returncode for host in hosts], [0, 0], errors)
        self.assert_trained(output, errors)

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not there (tools/setup packages)")
    def test_open_mpi_from_one_host(self) -> None:
        options = "--allow-run-as-root --oversubscribe --mca btl tcp,self --mca plm isolated"
        words = [str(DEPLOY / "openmpi" / "train.sh"), "localhost:2", f"127.0.0.1:{free_port()}", *SCRIPT]
        done = subprocess.run(words, env=environment(MPIRUN_OPTIONS=options, PYTHON=sys.executable),
                              capture_output=True, text=True, timeout=90, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_trained(done.stdout, done.stderr)

    def test_a_starter_without_arguments_shows_its_usage(self) -> None:
        for starter in ("torchrun/train.sh", "openmpi/train.sh"):
            done = subprocess.run([str(DEPLOY / starter)], capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertTrue(done.stderr.startswith("usage: "), done.stderr)


if __name__ == "__main__":
    unittest.main()
